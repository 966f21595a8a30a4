# Names of another computer, behind `pcc get host:` and `pcc put FILE host:`, by an ssh that asks nothing.
functions[_pcc_by_clap]=$functions[_pcc]
_pcc() {
    local written=${(Q)PREFIX}
    local host=${written%%:*} wanted=${written#*:}
    if [[ $words[2] != (get|put) || $written != *:* || -z $host || $host == (-*|*/*) || $wanted == //* ]]; then
        _pcc_by_clap "$@"
        return
    fi
    compset -P '[^:]##:'
    ! compset -P '\~/' || wanted=${wanted#\~/}
    # The shell there is told to do nothing by a name: question marks stand for what means something there. Names come quoted here.
    local -a names=("${(@f)$(command ssh -o BatchMode=yes -o ConnectTimeout=3 -- $host \
        "ls -1dpL -- ${wanted//[^[:alnum:].\/_-]/?}*" 2>/dev/null </dev/null | head -n 1000)}")
    names=(${names:#})
    # A directory is no end of a path.
    compadd -S '' -- ${(M)names:#*/}
    compadd -- ${names:#*/}
    (($#names))
}
