
# Names of another computer, behind `pcc get host:` and `pcc put FILE host:`, by an ssh that asks nothing.
_pcc_with_far_names() {
    # As it was written: in most shells a colon separates words.
    local line=${COMP_LINE:0:COMP_POINT} before='' host path home='' name
    local written=${line##*[[:space:]]}
    case ${COMP_WORDS[1]}/$written in
    get/*://* | put/*://* | get/-* | put/-* | get/*/*:* | put/*/*:*) ;;
    get/?*:* | put/?*:*) host=${written%%:*} path=${written#*:} ;;
    esac
    if [ -z "$host" ]; then
        _pcc "$@"
        return
    fi
    [[ $COMP_WORDBREAKS == *:* ]] || before=$host:
    [[ $path != '~/'* ]] || home='~/' path=${path#'~/'}
    COMPREPLY=()
    # Neither shell is told to do anything by a name: question marks stand for what means something there, and names come quoted here.
    while IFS= read -r name; do
        COMPREPLY+=("$before$home$(printf %q "$name")")
    done < <(ssh -o BatchMode=yes -o ConnectTimeout=3 -- "$host" \
        "ls -1dpL -- ${path//[^[:alnum:].\/_-]/?}*" 2>/dev/null </dev/null | head -n 1000)
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != */ ]] || compopt -o nospace
}

if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then
    complete -F _pcc_with_far_names -o nosort -o bashdefault -o default pcc
fi
