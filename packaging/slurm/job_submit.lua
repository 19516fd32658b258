-- job_submit: holds GPU jobs for adlro in the partitions that adlro.conf names, and leaves all others alone.
--
-- A job that is caught is held (priority 0), and its GPU request moves into admin_comment as "adlro:volta:2|turing:1", where
-- adlro reads it: Slurm cannot change the type of a request later, so none is left in the job. Users go on as before:
--   sbatch --gres=gpu:volta:2 ...                         two volta GPUs on each node
--   sbatch --gres=gpu:2 ...                               two GPUs of whatever type
--   sbatch --comment="adlro:volta:2|turing:1" ...         either; the first is what Slurm gets if adlro is away
--   sbatch --gres=gpu:1 --constraint="volta|turing" ...   by features of nodes, as before
-- scontrol hold and release work as before. Jobs that this hook does not understand stay with Slurm, and so do all if the last
-- heartbeat of adlro is older than stale_s seconds.

local HELD_BEGIN = 4000000000 -- a begin time beyond this means: held by its user (src/slurm/job.h)
local NO_VAL = 4294967294
local NO_VAL16 = 65534
local INFINITE = 4294967295

local here = (debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$")) or "/etc/slurm"

-- Read each time: it is short, and changes take effect at once.
local function read_settings()
    local settings = { partitions = {}, heartbeat = "/run/adlro/slurm.heartbeat", stale_s = 60, admins = { [0] = true } }
    local file = io.open(here .. "/adlro.conf", "r")
    if not file then
        return settings
    end
    for line in file:lines() do
        local key, value = line:gsub("#.*", ""):match("^%s*([%w_]+)[%s=]+(.-)%s*$")
        if key == "partitions" then
            for name in value:gmatch("[^%s,]+") do
                settings.partitions[name] = true
            end
        elseif key == "admins" then -- uids of administrators beside root
            for uid in value:gmatch("%d+") do
                settings.admins[tonumber(uid)] = true
            end
        elseif key == "heartbeat" then
            settings.heartbeat = value
        elseif key == "stale_s" then
            settings.stale_s = tonumber(value) or settings.stale_s
        end
    end
    file:close()
    return settings
end

-- stale_s 0 is for tests: adlro counts as running.
local function is_alive(settings)
    if settings.stale_s == 0 then
        return true
    end
    local file = io.open(settings.heartbeat, "r")
    if not file then
        return false
    end
    local seconds = tonumber(file:read("*l") or "")
    file:close()
    return seconds ~= nil and os.time() - seconds <= settings.stale_s
end

local function is_set(text)
    return text ~= nil and text ~= ""
end

-- The GPUs of "gres:gpu:volta:2": type ("*" = any) and count; nil if there are none, false if there is anything else.
local function parse_gres(text)
    if not is_set(text) then
        return nil
    end
    local word = text:gsub("^gres[:/]", "")
    if word:find(",") or not (word == "gpu" or word:find("^gpu[:=]")) then
        return false
    end
    local rest = word:sub(5):gsub("=", ":")
    if rest == "" then
        return "*", 1
    elseif rest:find("^%d+$") then
        return "*", tonumber(rest)
    end
    local gpu_type, count = rest:match("^([%w_%.%-]+):(%d+)$")
    if not gpu_type then
        gpu_type, count = rest:match("^([%w_%.%-]+)$"), 1
    end
    if not gpu_type then
        return false
    end
    return gpu_type, tonumber(count)
end

-- Of tres_per_task, which has CPUs as well from 23.11 on, "cpu=2,gres/gpu=1": the CPUs, and the rest.
local function split_task(text)
    local cpus, rest = {}, {}
    for word in (text or ""):gmatch("[^,]+") do
        table.insert(word:find("^cpu[:=]") and cpus or rest, word)
    end
    return table.concat(cpus, ","), table.concat(rest, ",")
end

local function has_gpus(job)
    local _, of_task = split_task(job.tres_per_task)
    return is_set(job.tres_per_node) or is_set(job.tres_per_job) or is_set(of_task)
end

local function are_alternatives(words)
    for word in (words .. "|"):gmatch("([^|]*)|") do
        local gpu_type, count = word:match("^([^:]+):(%d+)$")
        if not gpu_type or tonumber(count) < 1 or not (gpu_type == "*" or gpu_type:find("^[%w_%.%-]+$")) then
            return false
        end
    end
    return true
end

local function number(value, unset)
    if value == nil or value == NO_VAL or value == NO_VAL16 or value == 0 then
        return unset
    end
    return value
end

-- The job's request as adlro writes it, and what it is counted by: "" = each node, "job" or "task". nil and the reason if it
-- is not for adlro; nil alone if it asks for no GPUs. The adapter finds how many nodes that takes (src/slurm/job.c).
local function request_of(job)
    local anyof = job.comment and job.comment:match("^adlro:(%S+)$")
    local node_type, node_count = parse_gres(job.tres_per_node)
    local job_type, job_count = parse_gres(job.tres_per_job)
    local _, of_task = split_task(job.tres_per_task)
    local task_type, task_count = parse_gres(of_task)
    if node_type == false or job_type == false or task_type == false or is_set(job.tres_per_socket) then
        return nil, "its GRES are not GPUs alone"
    end
    local by_task = task_type and (job.tres_bind or ""):find("^gres/gpu:per_task:%d+$") -- as --gpus-per-task implies
    if is_set(job.cpus_per_tres) or is_set(job.mem_per_tres) or (is_set(job.tres_bind) and not by_task) or
            number(job.ntasks_per_tres, 0) ~= 0 then
        return nil, "it counts or binds per GPU"
    end
    local nodes = number(job.min_nodes, 1)
    if number(job.max_nodes, nodes) ~= nodes and (job_type or task_type) then
        return nil, "its number of nodes is open"
    end
    if anyof then
        return anyof, ""
    elseif (node_type and 1 or 0) + (job_type and 1 or 0) + (task_type and 1 or 0) > 1 then
        return nil, "it asks for GPUs in two ways"
    elseif (node_count or job_count or task_count or 0) == 0 then
        return nil -- --gpus=0: without GPUs
    elseif node_type then
        return node_type .. ":" .. node_count, ""
    elseif job_type then
        return job_type .. ":" .. job_count, "job"
    end
    return task_type .. ":" .. task_count, "task"
end

-- Why adlro cannot place this job with GPUs; nil if it can.
local function obstacle(job)
    if (job.het_job_offset or NO_VAL) ~= NO_VAL then -- that of the first part is 0
        return "it is part of a heterogeneous job"
    elseif job.immediate == 1 then
        return "it has --immediate"
    elseif job.shared == 0 then
        return "it asks for whole nodes"
    elseif is_set(job.features) and (job.features:find("[^%w_%-%.:=/&|,()]") or
            (job.features:find("[&,]") and job.features:find("|") and not job.features:find("%("))) then
        return "its constraint is more than a choice of features"
    elseif is_set(job.dependency) and (job.dependency:find("[^%w_,:?*]") or job.dependency:find("singleton") or
            job.dependency:find("aftercorr") or job.dependency:find("afterburst") or
            (job.dependency:find(",") and job.dependency:find("?", 1, true))) then
        return "only Slurm can test its dependency" -- which it does not do for held jobs
    elseif is_set(job.req_nodes) and #job.req_nodes > 380 then
        return "its list of nodes is too long"
    end
    return nil
end

local function default_partition(part_list)
    for name, part in pairs(part_list) do
        if part.flag_default == 1 then
            return name
        end
    end
    return nil
end

local function is_ours(settings, names)
    local any = false
    for name in (names or ""):gmatch("[^,]+") do
        if not settings.partitions[name] then
            return false
        end
        any = true
    end
    return any
end

-- Lua is not given the version of Slurm; this error code came with 23.11, as did the slash.
local GPU_PREFIX = slurm.ESLURM_INVALID_RELATIVE_QOS and "gres/gpu:" or "gres:gpu:"

local function first_gres(request)
    local gpu_type, count = request:match("^([^:|]+):(%d+)")
    return GPU_PREFIX .. (gpu_type == "*" and count or gpu_type .. ":" .. count)
end

-- admin_comment: the request, what it is counted by, and the nodes that the user asked for.
local function write_catch(request, by, nodes)
    return "adlro:" .. request .. (is_set(by) and ";by=" .. by or "") .. (is_set(nodes) and ";nodes=" .. nodes or "")
end

local function read_catch(text)
    return text:match("^adlro:([^;]*)"), text:match(";by=([^;]*)"), text:match(";nodes=([^;]*)")
end

local function submit(job, part_list)
    local settings = read_settings()
    if not is_ours(settings, job.partition or default_partition(part_list)) then
        return slurm.SUCCESS
    end
    local request, by = request_of(job)
    if not request then
        if by then
            slurm.log_info("adlro: a job of user %s stays with Slurm: %s", tostring(job.user_id), by)
        end
        return slurm.SUCCESS
    end
    if not are_alternatives(request) then
        slurm.log_user("adlro: '%s' is not TYPE:COUNT|TYPE:COUNT..., such as volta:2|turing:1", request)
        return slurm.ERROR
    end
    local why = obstacle(job) or (not is_alive(settings) and "adlro is away") or nil
    if why then
        slurm.log_info("adlro: a job of user %s stays with Slurm: %s", tostring(job.user_id), why)
        if not has_gpus(job) then
            job.tres_per_node = first_gres(request)
        end
        return slurm.SUCCESS
    end
    job.admin_comment = write_catch(request, by, job.req_nodes)
    if job.priority == 0 then
        job.begin_time = HELD_BEGIN + 1
    end
    job.priority = 0
    job.tres_per_node = ""
    job.tres_per_job = ""
    job.tres_per_task = split_task(job.tres_per_task)
    job.req_nodes = ""
    return slurm.SUCCESS
end

-- The job moves to a partition that is not adlro's: Slurm gets the request as its user made it. The job stays held, because
-- whether its user holds it is not known here.
local function give_back(change, job)
    local request, by, nodes = read_catch(job.admin_comment)
    local form = by == "job" and "tres_per_job" or by == "task" and "tres_per_task" or "tres_per_node"
    local kept = by == "task" and is_set(job.tres_per_task) and job.tres_per_task .. "," or ""
    change[form] = kept .. first_gres(request)
    change.req_nodes = nodes or ""
    change.admin_comment = "adlro-given:" .. request
    change.begin_time = os.time() -- instead of the hook's, if its user holds it: the priority holds it now
    return slurm.SUCCESS
end

-- Writes what an administrator changes of a job that waits for adlro into admin_comment. Holding, releasing and placing change
-- the priority, and are left alone.
local function modify_by_admin(settings, change, job)
    if job.priority ~= 0 or (change.priority or NO_VAL) ~= NO_VAL or is_set(change.admin_comment) then
        return slurm.SUCCESS
    elseif is_set(change.partition) and not is_ours(settings, change.partition) then
        return give_back(change, job)
    end
    local request, by, nodes = read_catch(job.admin_comment)
    if has_gpus(change) then
        request, by = request_of(change)
        if not request or not are_alternatives(request) then
            slurm.log_user("adlro cannot place this job with other GPUs: %s", by or "it would have none")
            return slurm.ERROR
        end
    end
    if has_gpus(change) or is_set(change.req_nodes) then
        change.admin_comment = write_catch(request, by, is_set(change.req_nodes) and change.req_nodes or nodes)
        change.tres_per_node = ""
        change.tres_per_job = ""
        change.tres_per_task = split_task(change.tres_per_task)
        change.req_nodes = ""
    end
    return slurm.SUCCESS
end

local function modify(change, job, uid)
    local settings = read_settings()
    if not is_ours(settings, job.partition) or not (job.admin_comment or ""):find("^adlro:") then
        return slurm.SUCCESS
    end
    if number(change.min_nodes, 0) > 0 and number(change.max_nodes, 0) == 0 then
        change.max_nodes = change.min_nodes -- before 23.02 only this says how many nodes a pending job asks for
    end
    if settings.admins[uid] then
        return modify_by_admin(settings, change, job)
    end
    if is_set(change.req_nodes) or has_gpus(change) or is_set(change.partition) then
        slurm.log_user("adlro places this job: its nodes, GPUs and partition can be chosen with sbatch only; cancel it and submit it again")
        return slurm.ERROR
    end
    if change.priority == 0 then -- hold
        change.begin_time = HELD_BEGIN + 1
        if job.priority == 0 then
            change.priority = NO_VAL
        end
    elseif change.priority == INFINITE then -- release: to adlro, not to Slurm
        change.begin_time = os.time()
        change.priority = NO_VAL
    end
    return slurm.SUCCESS
end

-- An error in this hook must not keep users from submitting.
local function guarded(action, ...)
    local fine, result = pcall(action, ...)
    if fine then
        return result
    end
    slurm.log_error("adlro: %s", tostring(result))
    return slurm.SUCCESS
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    return guarded(submit, job_desc, part_list)
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return guarded(modify, job_desc, job_rec, modify_uid)
end

return slurm.SUCCESS
