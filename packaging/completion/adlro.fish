# fish completion for adlro: verbs and options as its own help lists them, policies, and jobs of a running service.

# The first column of `adlro --help`, with the beginning of its text.
function __adlro_verbs
    set -l words (commandline -opc)
    $words[1] --help 2>/dev/null | string replace -rf '^  ([a-z][a-z-]*) +(.*)$' '$1'\t'$2'
end

# The options of `adlro VERB --help`: long ones and letters.
function __adlro_options
    set -l words (commandline -opc)
    $words[1] $words[2] --help 2>/dev/null | string replace -rf '^ +(?:(-[A-Za-z]), )?(--[a-z-]+)(?: [A-Z][^ ]*)?(?:  +(.*))?$' '$2'\t'$3'
end

function __adlro_jobs
    set -l words (commandline -opc)
    timeout 2 $words[1] queue --no-header 2>/dev/null | string match -r '^ *[0-9_]+' | string trim
end

function __adlro_policies
    set -l words (commandline -opc)
    $words[1] policies 2>/dev/null | string replace -rf '^([a-z][a-z0-9-]*) +(.*)$' '$1'\t'$2'
end

function __adlro_needs_verb
    test (count (commandline -opc)) -eq 1
end

function __adlro_verb_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

complete -c adlro -n __adlro_needs_verb -f -a '(__adlro_verbs)'
complete -c adlro -n 'not __adlro_needs_verb; and string match -q -- "-*" (commandline -ct)' -f -a '(__adlro_options)'
complete -c adlro -n '__adlro_verb_is show log explain cancel hold release requeue priority progress' -f -a '(__adlro_jobs)'
complete -c adlro -n 'not __adlro_needs_verb' -l policy -x -a '(__adlro_policies)'
complete -c adlro -n 'not __adlro_needs_verb' -l policies -x -a '(__adlro_policies)'
