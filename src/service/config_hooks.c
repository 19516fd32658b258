/* config_hooks: the hooks of the service's configuration. */
#include "base/suggest.h"
#include "http/fetch.h"
#include "service/config_internal.h"

#include <string.h>
#include <unistd.h>

#define SENDMAIL      "/usr/sbin/sendmail"
#define FROM          "adlro"
#define SECRET_HEADER "X-Adlro-Secret"

struct hook_reader {
    struct adl_yaml *yaml;
    struct adl_error *err;
};

static int read_events(const struct hook_reader *reader, const struct form_hook *form, uint32_t *ret)
{
    const struct adl_yaml_link *links = form->events.items;
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    for (uint32_t i = 0; i < form->events.count; i++) {
        struct adl_suggest suggest = {.word = links[i].text};
        uint32_t event = 0;
        for (; event < ADL_HOOK_EVENTS && strcmp(adl_hook_event_names[event], links[i].text) != 0; event++)
            adl_suggest_offer(&suggest, adl_hook_event_names[event]);
        if (event == ADL_HOOK_EVENTS)
            return adl_yaml_fail(reader->yaml, links[i].line, reader->err,
                                 "hooks: events: unknown event %s%s (job_end, idle, alert, drift, gate)",
                                 adl_quote(links[i].text, quoted), adl_suggest_phrase(&suggest, phrase));
        *ret |= 1u << event;
    }
    return 0;
}

/* The address itself is not shown: those of chat services are secrets. */
static int read_webhook(const struct hook_reader *reader, const struct form_hook *form, struct adl_hook *ret)
{
    struct adl_fetch_url url;
    const int status = adl_fetch_url_read(form->webhook.text, &url);
    const bool credentials = url.credentials, plain = !url.https && !url.loopback;
    adl_fetch_url_clear(&url);
    if (status)
        return adl_yaml_fail(reader->yaml, form->webhook.line, reader->err,
                             "hooks: webhook must be an address like https://host/path");
    if (credentials)
        return adl_yaml_fail(reader->yaml, form->webhook.line, reader->err,
                             "hooks: webhook may not hold a name or password; use secret_file");
    if (plain && form->secret_file.text)
        return adl_yaml_fail(reader->yaml, form->webhook.line, reader->err,
                             "hooks: webhook: a secret needs https, or an address of this machine");
    ret->kind = ADL_HOOK_WEBHOOK;
    ret->target = form->webhook.text;
    return 0;
}

static bool is_header_name(const char *text)
{
    return strlen(text) <= 60 &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")] == '\0';
}

static int read_secret(const struct hook_reader *reader, const struct form_hook *form, struct adl_hook *ret)
{
    struct adl_error inner = {""};
    char secret[ADL_SECRET_MAX + 1];
    const struct adl_yaml_link *alone = form->secret_header.text ? &form->secret_header : &form->secret_file;
    if (!form->webhook.text && alone->text)
        return adl_yaml_fail(reader->yaml, alone->line, reader->err, "hooks: a secret is for a 'webhook'");
    if (!form->secret_file.text && form->secret_header.text)
        return adl_yaml_fail(reader->yaml, alone->line, reader->err, "hooks: secret_header needs a 'secret_file'");
    if (form->secret_header.text && !is_header_name(form->secret_header.text))
        return adl_yaml_fail(reader->yaml, alone->line, reader->err,
                             "hooks: secret_header has letters, digits and -, at most 60");
    if (!form->secret_file.text)
        return 0;
    const int status = adl_service_config_path(reader->yaml, &form->secret_file, &ret->secret_file, reader->err);
    if (status)
        return status;
    if (adl_hook_secret_read(ret->secret_file, secret, &inner))
        return adl_yaml_fail(reader->yaml, form->secret_file.line, reader->err, "hooks: secret_file: %s", inner.text);
    ret->secret_header = form->secret_header.text ? form->secret_header.text : SECRET_HEADER;
    return 0;
}

static int read_mail(const struct hook_reader *reader, const struct form_hook *form, const char *program,
                     struct adl_hook *ret)
{
    char quoted[ADL_QUOTE_SIZE];
    if (!adl_hook_address_ok(form->mail.text))
        return adl_yaml_fail(reader->yaml, form->mail.line, reader->err,
                             "hooks: mail: %s is neither 'owner' nor an address like ann@example.org",
                             adl_quote(form->mail.text, quoted));
    if (access(program, X_OK))
        return adl_yaml_fail(reader->yaml, form->mail.line, reader->err,
                             "hooks: mail: %.150s is not a program; 'sendmail.program' names another", program);
    ret->kind = ADL_HOOK_MAIL;
    ret->target = form->mail.text;
    return 0;
}

static int read_hook(const struct hook_reader *reader, const struct form_hook *form, const char *program,
                     struct adl_hook *ret)
{
    if (!form->webhook.text == !form->mail.text)
        return adl_yaml_fail(reader->yaml, form->at->line, reader->err,
                             "hooks: an element has either a 'webhook' or a 'mail'");
    int status = read_events(reader, form, &ret->events);
    if (!status)
        status = form->webhook.text ? read_webhook(reader, form, ret) : read_mail(reader, form, program, ret);
    return status ? status : read_secret(reader, form, ret);
}

int adl_service_config_hooks(struct adl_yaml *yaml, const struct service_form *form, struct adl_hooks_config *ret,
                             struct adl_error *err)
{
    const struct hook_reader reader = {yaml, err};
    const struct form_hook *forms = form->hooks.items;
    struct adl_hooks_config config = {.sendmail = SENDMAIL, .from = FROM, .count = form->hooks.count};
    int status = adl_service_config_path(yaml, &form->sendmail.program, &config.sendmail, err);
    if (status)
        return status;
    if (form->sendmail.from.text)
        config.from = form->sendmail.from.text;
    if (!adl_hook_address_ok(config.from))
        return adl_yaml_fail(yaml, form->sendmail.from.line, err, "sendmail.from must be an address like adlro@host");
    struct adl_hook *hooks = adl_yaml_alloc(yaml, (config.count + (size_t)1) * sizeof *hooks);
    if (!hooks)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the configuration");
    for (uint32_t i = 0; i < config.count && !status; i++)
        status = read_hook(&reader, &forms[i], config.sendmail, &hooks[i]);
    config.hooks = hooks;
    if (!status)
        *ret = config;
    return status;
}
