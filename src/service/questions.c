#include "service/questions.h"

#include "base/json.h"
#include "experiment/run.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_S     5.0  /* that a copy of the engine may take */
#define PLAY_S     5.0  /* after which no more futures begin, if there are a few */
#define LONGEST_S  20.0 /* or, if there are not */
#define PATIENCE_S 15.0 /* a question that has waited longer is not played */
#define HORIZON_S  (30 * 86400.0)
#define EVENTS_MAX 200000

struct adl_questions {
    struct adl_service_state *shared;
    int64_t time_limit_us;
    pthread_mutex_t lock;
    pthread_cond_t some;
    pthread_t thread;
    struct adl_question *first; /* the oldest */
    uint32_t count;
    atomic_bool ended;
    struct adl_snapshot *snapshot; /* of the thread */
    int64_t begun_ns;              /* the question that is played */
};

void adl_question_free(struct adl_question *question)
{
    if (!question)
        return;
    adl_submission_destroy(question->submission);
    free(question);
}

static double since_s(int64_t time_ns)
{
    return (double)(adl_clock_ns() - time_ns) * 1e-9;
}

static bool go_on(void *self, uint32_t played)
{
    struct adl_questions *questions = self;
    return !atomic_load(&questions->ended) &&
           since_s(questions->begun_ns) < (played < ADL_WHATIF_LEAST ? LONGEST_S : PLAY_S);
}

/* ---- one question ---- */

static int find_class(const struct adl_scenario *scenario, const struct adl_submission *submission,
                      struct adl_job_spec *spec, struct adl_error *err)
{
    if (!submission->class_name || submission->class_name[0] == '\0')
        return 0;
    for (uint32_t i = 0; i < scenario->class_count; i++)
        if (strcmp(scenario->classes[i].name, submission->class_name) == 0) {
            spec->class_index = (uint16_t)i;
            spec->kind = scenario->classes[i].kind;
            return 0;
        }
    return adl_fail(err, ADL_EINVAL, "class: there is no job class '%.60s' in the catalogue", submission->class_name);
}

/* Of several requests with different numbers of GPUs the first. */
static int read_spec(const struct adl_questions *questions, const struct adl_submission *submission,
                     struct adl_job_spec *ret, struct adl_error *err)
{
    const struct adl_scenario *scenario = &questions->shared->inventory->scenario; /* this part never changes */
    struct adl_alternative requests[ADL_ALTERNATIVES_MAX];
    uint32_t count = 0;
    *ret = submission->job.spec;
    int status = adl_gpu_request_read(submission->job.request, &scenario->cluster, requests, &count, err);
    if (status == 0)
        status = find_class(scenario, submission, ret, err);
    if (status)
        return status;
    ret->gpus = requests[0].gpus;
    ret->types = requests[0].types;
    ret->limit_us = ret->limit_us > 0 ? ret->limit_us : questions->time_limit_us;
    return 0;
}

static struct adl_change_words words_of(const struct adl_question *question, const struct adl_snapshot_view *view)
{
    const int64_t now_us = adl_engine_state(view->engine)->now_us;
    const int64_t drain_us = question->drain_s > 0 ? (int64_t)(question->drain_s * 1e6) - view->wall_ahead_us : now_us;
    return (struct adl_change_words){.types = question->types[0] ? question->types : NULL,
                                     .gpus = question->gpus,
                                     .limit_s = question->limit_s,
                                     .priority = question->priority,
                                     .add_nodes = question->add_nodes[0] ? question->add_nodes : NULL,
                                     .drain = question->drain[0] ? question->drain : NULL,
                                     .drain_us = drain_us,
                                     .drain_in_us = drain_us - now_us,
                                     .policy = question->policy,
                                     .policy_config = adl_engine_config(view->engine)->policy_config};
}

static void put_answer(const struct adl_question *question, const struct adl_snapshot_view *view,
                       const struct adl_whatif *whatif, const struct adl_answer *answers, uint32_t count, bool advice,
                       struct adl_text *ret)
{
    struct adl_json json = adl_json_start(ret, false);
    const bool of_job = question->of_job || question->submission;
    adl_json_object(&json);
    adl_json_put_real(&json, "time_s", (double)(adl_engine_state(view->engine)->now_us + view->wall_ahead_us) * 1e-6);
    adl_json_put_string(&json, "policy", adl_engine_config(view->engine)->policy->name);
    adl_json_key(&json, "job");
    if (question->of_job)
        adl_json_uint(&json, question->job);
    else
        adl_json_null(&json);
    adl_json_put_string(&json, "label", question->of_job ? question->label : NULL);
    adl_json_put_bool(&json, "advice", advice);
    adl_json_put_string(&json, "basis", adl_forecasts_know(adl_engine_state(view->engine)) ? "futures" : "time_limit");
    adl_whatif_put(&json, whatif, of_job, answers, count,
                   advice ? adl_whatif_cheapest(answers, count, whatif) : ADL_NONE);
    adl_json_end(&json);
}

static int play(struct adl_questions *questions, const struct adl_question *question, struct adl_text *ret,
                struct adl_error *err)
{
    const struct adl_snapshot_view view = adl_snapshot_view(questions->snapshot);
    const struct adl_change_words words = words_of(question, &view);
    struct adl_answer answers[ADL_CHANGES_MAX] = {0};
    struct adl_job_spec spec = {0};
    struct adl_whatif whatif;
    int status = question->submission ? read_spec(questions, question->submission, &spec, err) : 0;
    const struct adl_whatif_config config = {.fork = view.fork,
                                             .recent = view.recent,
                                             .seed = 1,
                                             .futures = question->futures,
                                             .horizon_s = HORIZON_S,
                                             .events_max = EVENTS_MAX,
                                             .of_job = question->of_job,
                                             .job = question->job,
                                             .submit = question->submission ? &spec : NULL,
                                             .go_on = go_on,
                                             .self = questions};
    if (status)
        return status;
    const bool advice = !adl_change_words_any(&words);
    const double priority_max = question->caller.admin && !question->submission ? 1 : 0; /* who may raise it */
    const uint32_t count = advice ? adl_whatif_choices(&config, priority_max, answers) : 1;
    if (!advice)
        status = adl_change_read(&words, adl_engine_state(view.engine)->cluster, &answers[0].change, err);
    if (status == 0)
        status = adl_whatif_play(&config, answers, count, &whatif, err);
    if (status == 0)
        put_answer(question, &view, &whatif, answers, count, advice, ret);
    return status;
}

static void refuse(const struct adl_question *question, int status, const char *why)
{
    char text[300];
    if (status == ADL_EABSENT) {
        snprintf(text, sizeof text,
                 "job %s is not in the queue now: it is held, waits for another job or its time, or has ended",
                 question->label);
        adl_http_request_answer_problem(question->http, 409, "conflict", text, NULL);
    } else if (status == ADL_EINVAL) {
        adl_http_request_answer_problem(question->http, 400, "bad_request", why, NULL);
    } else {
        adl_http_request_answer_problem(question->http, 503, "busy", why, "Ask again in a moment.");
    }
}

static void answer(struct adl_questions *questions, const struct adl_question *question)
{
    struct adl_error err = {.text = "too many questions wait"};
    struct adl_text text = {0};
    int status = since_s(question->asked_ns) < PATIENCE_S ? 0 : ADL_EREFUSED;
    questions->begun_ns = adl_clock_ns();
    if (status == 0 && !questions->snapshot)
        status = adl_snapshot_create(questions->shared->snapshots, &questions->snapshot, &err);
    if (status == 0)
        status = adl_snapshot_take(questions->snapshot, COPY_S, &err);
    if (status == 0)
        status = play(questions, question, &text, &err);
    if (status == 0 && adl_text_status(&text))
        status = adl_fail(&err, ADL_ENOMEM, "out of memory for the answer");
    if (status == 0)
        adl_http_request_answer_json(question->http, 200, &text);
    else
        refuse(question, status, err.text);
    adl_text_clear(&text);
}

/* ---- the thread ---- */

static struct adl_question *take(struct adl_questions *questions, bool wait)
{
    pthread_mutex_lock(&questions->lock);
    while (wait && !questions->first && !atomic_load(&questions->ended))
        pthread_cond_wait(&questions->some, &questions->lock);
    struct adl_question *question = wait && atomic_load(&questions->ended) ? NULL : questions->first;
    if (question) {
        questions->first = question->next;
        questions->count--;
    }
    pthread_mutex_unlock(&questions->lock);
    return question;
}

static void *run(void *self)
{
    struct adl_questions *questions = self;
    for (struct adl_question *question; (question = take(questions, true));) {
        answer(questions, question);
        adl_question_free(question);
    }
    return NULL;
}

int adl_questions_create(struct adl_service_state *shared, int64_t time_limit_us, struct adl_questions **ret,
                         struct adl_error *err)
{
    struct adl_questions *questions = calloc(1, sizeof *questions);
    if (!questions)
        return adl_fail(err, ADL_ENOMEM, "out of memory for what-if questions");
    questions->shared = shared;
    questions->time_limit_us = time_limit_us;
    pthread_mutex_init(&questions->lock, NULL);
    pthread_cond_init(&questions->some, NULL);
    if (pthread_create(&questions->thread, NULL, run, questions)) {
        pthread_cond_destroy(&questions->some);
        pthread_mutex_destroy(&questions->lock);
        free(questions);
        return adl_fail(err, ADL_EIO, "cannot start the thread that answers what-if questions");
    }
    *ret = questions;
    return 0;
}

void adl_questions_destroy(struct adl_questions *questions)
{
    if (!questions)
        return;
    pthread_mutex_lock(&questions->lock);
    atomic_store(&questions->ended, true);
    pthread_cond_broadcast(&questions->some);
    pthread_mutex_unlock(&questions->lock);
    pthread_join(questions->thread, NULL);
    for (struct adl_question *question; (question = take(questions, false));) {
        refuse(question, ADL_EREFUSED, "the service is ending");
        adl_question_free(question);
    }
    adl_snapshot_destroy(questions->snapshot);
    pthread_cond_destroy(&questions->some);
    pthread_mutex_destroy(&questions->lock);
    free(questions);
}

bool adl_questions_post(struct adl_questions *questions, struct adl_question *question)
{
    pthread_mutex_lock(&questions->lock);
    const bool fits = questions->count < ADL_QUESTIONS_MAX && !atomic_load(&questions->ended);
    if (fits) {
        struct adl_question **at = &questions->first;
        while (*at)
            at = &(*at)->next;
        question->next = NULL;
        question->asked_ns = adl_clock_ns();
        *at = question;
        questions->count++;
        pthread_cond_signal(&questions->some);
    }
    pthread_mutex_unlock(&questions->lock);
    return fits;
}
