
# Names of another computer, behind `pcc get host:` and `pcc put FILE host:`, by an ssh that asks nothing.
function __pcc_far
    commandline -ct | string unescape | string match -r '^([^-/:][^/:]*):(?!//)(~/|)(.*)$'
end

function __pcc_far_names
    set -l far (__pcc_far)
    # The shell there is told to do nothing by a name: question marks stand for what means something there. fish quotes names here.
    set -l pattern (string replace -ar '[^[:alnum:]./_-]' '?' -- $far[4])'*'
    for name in (command ssh -o BatchMode=yes -o ConnectTimeout=3 -- $far[2] "ls -1dpL -- $pattern" 2>/dev/null </dev/null | head -n 1000)
        # Behind a tab fish expects a description.
        string match -q "*"\t"*" -- $name; or echo -- "$far[2]:$far[3]$name"
    end
end

complete -c pcc -n "__fish_pcc_using_subcommand get put; and __pcc_far >/dev/null" -f -a "(__pcc_far_names)"
