# bash completion for adlro: verbs and options as its own help lists them, files, policies, and jobs of a running service.

# The words of the first column of `adlro --help`.
_adlro_verbs() {
    "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}

# The options of `adlro VERB --help`, long ones and letters.
_adlro_options() {
    "$1" "$2" --help 2>/dev/null | sed -n 's/^  *\(-[A-Za-z], \)\{0,1\}\(--[a-z-]*\).*/\1\2/p' | sed 's/, /\n/'
}

# What an option takes, as its help calls it: FILE, N, nothing for a flag.
_adlro_value() {
    "$1" "$2" --help 2>/dev/null |
        sed -n -e "s/^ *\(-[A-Za-z], \)\{0,1\}$3 \([A-Z][A-Z]*\) .*/\2/p" -e "s/^ *$3, --[a-z-]* \([A-Z][A-Z]*\) .*/\1/p" | head -n 1
}

# The values in brackets after an option that has a fixed set: "(live, all, ...; default live)".
_adlro_choices() {
    "$1" "$2" --help 2>/dev/null | tr '\n' ' ' | sed 's/  */ /g' |
        sed -n "s/.*$3 [A-Z]* [^(]*(\([a-zA-Z][a-zA-Z0-9, -]*\); default.*/\1/p" | tr -d ','
}

_adlro_jobs() {
    timeout 2 "$1" queue --no-header 2>/dev/null | awk '{print $1}'
}

_adlro_policies() {
    "$1" policies 2>/dev/null | awk '{print $1}'
}

_adlro_gpus() {
    timeout 2 "$1" show 2>/dev/null | awk 'NR > 2 {print $1; print $2}'
}

_adlro() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local verb=${COMP_WORDS[1]} value words= i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_adlro_verbs "$program") --help --version" -- "$word")
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do # after the dashes it is somebody else's command
        if [ "${COMP_WORDS[i]}" = -- ]; then
            mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
            return
        fi
    done
    if [ "$before" = = ]; then # bash splits --option=value at the sign
        before=${COMP_WORDS[COMP_CWORD - 2]}
    elif [ "$word" = = ]; then
        word=
    fi
    case $before in
    --policy | --policies | --instead) words=$(_adlro_policies "$program") ;;
    --set) words=$(_adlro_policies "$program" | sed 's/$/./') ;;
    --after | --after-ok | --job | -j) words=$(_adlro_jobs "$program") ;;
    --dependency | -d) words="afterok: afterany: afternotok: after: singleton" ;;
    --begin | -b) words="now+1hour today tomorrow midnight noon" ;;
    --signal) words="USR1@60 B:USR1@60 TERM@60 B:TERM@60" ;;
    --kind) words="training inference simulation data" ;;
    --export) words="ALL NONE" ;;
    --chdir | -D)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    -*)
        value=$(_adlro_value "$program" "$verb" "$before")
        case $value in
        '') ;; # a flag: go on below
        FILE | PATH | DIR | FOLDER)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        *)
            mapfile -t COMPREPLY < <(compgen -W "$(_adlro_choices "$program" "$verb" "$before")" -- "$word")
            return
            ;;
        esac
        ;;
    esac
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_adlro_options "$program" "$verb") --help" -- "$word")
    else
        case $verb in
        show | log | explain | cancel | hold | release | requeue | priority | progress)
            mapfile -t COMPREPLY < <(compgen -W "$(_adlro_jobs "$program")" -- "$word")
            ;;
        drain) mapfile -t COMPREPLY < <(compgen -W "$(_adlro_gpus "$program")" -- "$word") ;;
        token) mapfile -t COMPREPLY < <(compgen -u -W "list revoke" -- "$word") ;;
        scenario) mapfile -t COMPREPLY < <(compgen -W random -- "$word") ;;
        belief) mapfile -t COMPREPLY < <(compgen -f -W "show export import" -- "$word") ;;
        slurm) mapfile -t COMPREPLY < <(compgen -W check -- "$word") ;;
        queue | top | health | policies) ;;
        *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        esac
    fi
}

complete -o filenames -o bashdefault -F _adlro adlro
