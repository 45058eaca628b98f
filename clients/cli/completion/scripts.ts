// The completion scripts of shells. They ask the command itself, so that they repeat nothing.
import { hiddenCommand } from "../hidden.ts"

export const shells = ["bash", "zsh", "fish"] as const
export type Shell = (typeof shells)[number]

/** One candidate per line: the word, a tab and its description. Without candidates, files are completed. */
export const scripts: Readonly<Record<Shell, string>> = {
  bash: `# signet completion for bash: eval "$(signet completion bash)"
_signet() {
  local IFS=$'\\n' cur="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(compgen -W "$(signet ${hiddenCommand} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "$cur"))
}
complete -o default -F _signet signet
`,
  zsh: `#compdef signet
# signet completion for zsh: eval "$(signet completion zsh)"
_signet() {
  local -a lines
  local line
  for line in "\${(@f)$(signet ${hiddenCommand} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && lines+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#lines} )); then _describe signet lines; else _files; fi
}
compdef _signet signet
`,
  fish: `# signet completion for fish: signet completion fish | source
function __signet_complete
  set -l words (commandline -opc) (commandline -ct)
  signet ${hiddenCommand} -- $words[2..-1] 2>/dev/null
end
complete -c signet -f -a '(__signet_complete)'
complete -c signet -n 'not count (__signet_complete) >/dev/null' -F
`,
}
