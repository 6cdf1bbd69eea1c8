autoload -Uz bashcompinit && bashcompinit
_bezoar() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=bezoar i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
      "bezoar run" | "bezoar serve" | "bezoar demo" | "bezoar quarantine" | "bezoar quarantine ls" | "bezoar quarantine show" | "bezoar quarantine add" | "bezoar quarantine release" | "bezoar dlq" | "bezoar dlq ls" | "bezoar dlq show" | "bezoar dlq redrive" | "bezoar dlq discard" | "bezoar fleet" | "bezoar fleet ls" | "bezoar fleet restart" | "bezoar config" | "bezoar config check" | "bezoar config show" | "bezoar version" | "bezoar completion") path="$path ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path $prev" in
    "bezoar run --replicas") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --listen") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --store") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --worker") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --health") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --grace") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --drain") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --memory") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --timeout") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --buffer") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --replay") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --ignore") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --client") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --after") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --within") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --for") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --max") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar run --log") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar serve --config") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar serve --listen") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar serve --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar serve --store") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar serve --log") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar demo --seconds") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar demo --workers") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar demo --pill") COMPREPLY=($(compgen -W "crash hang oom unique burst" -- "$cur")); return ;;
    "bezoar demo --rate") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar demo --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine ls --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine ls --fleet") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine show --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --header") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --body") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --fingerprint") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --shape") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --fleet") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --for") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine add --reason") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar quarantine release --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar dlq ls --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar dlq ls --fleet") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar dlq ls --limit") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar dlq ls --offset") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar dlq show --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar dlq redrive --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar dlq discard --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar fleet ls --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar fleet restart --admin") COMPREPLY=($(compgen -f -- "$cur")); return ;;
    "bezoar fleet restart --wait") COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case "$path" in
    "bezoar") COMPREPLY=($(compgen -W "run serve demo quarantine dlq fleet config version completion --help --json" -- "$cur")) ;;
    "bezoar run") COMPREPLY=($(compgen -W "--help --json --replicas --listen --admin --store --worker --health --grace --drain --memory --timeout --buffer --replay --ignore --client --after --within --for --max --quarantine --log" -- "$cur")) ;;
    "bezoar serve") COMPREPLY=($(compgen -W "--help --json --config --listen --admin --store --log" -- "$cur")) ;;
    "bezoar demo") COMPREPLY=($(compgen -W "--help --json --seconds --workers --pill --rate --serve --admin" -- "$cur")) ;;
    "bezoar quarantine") COMPREPLY=($(compgen -W "ls show add release --help --json" -- "$cur")) ;;
    "bezoar quarantine ls") COMPREPLY=($(compgen -W "--help --json --admin --fleet" -- "$cur")) ;;
    "bezoar quarantine show") COMPREPLY=($(compgen -W "--help --json --admin" -- "$cur")) ;;
    "bezoar quarantine add") COMPREPLY=($(compgen -W "--help --json --admin --header --body --fingerprint --shape --fleet --for --reason" -- "$cur")) ;;
    "bezoar quarantine release") COMPREPLY=($(compgen -W "--help --json --admin" -- "$cur")) ;;
    "bezoar dlq") COMPREPLY=($(compgen -W "ls show redrive discard --help --json" -- "$cur")) ;;
    "bezoar dlq ls") COMPREPLY=($(compgen -W "--help --json --admin --fleet --limit --offset" -- "$cur")) ;;
    "bezoar dlq show") COMPREPLY=($(compgen -W "--help --json --admin --body" -- "$cur")) ;;
    "bezoar dlq redrive") COMPREPLY=($(compgen -W "--help --json --admin" -- "$cur")) ;;
    "bezoar dlq discard") COMPREPLY=($(compgen -W "--help --json --admin" -- "$cur")) ;;
    "bezoar fleet") COMPREPLY=($(compgen -W "ls restart --help --json" -- "$cur")) ;;
    "bezoar fleet ls") COMPREPLY=($(compgen -W "--help --json --admin --check" -- "$cur")) ;;
    "bezoar fleet restart") COMPREPLY=($(compgen -W "--help --json --admin --wait" -- "$cur")) ;;
    "bezoar config") COMPREPLY=($(compgen -W "check show --help --json" -- "$cur")) ;;
    "bezoar config check") COMPREPLY=($(compgen -W "--help --json" -- "$cur")) ;;
    "bezoar config show") COMPREPLY=($(compgen -W "--help --json" -- "$cur")) ;;
    "bezoar version") COMPREPLY=($(compgen -W "--help --json" -- "$cur")) ;;
    "bezoar completion") COMPREPLY=($(compgen -W "bash zsh fish --help --json" -- "$cur")) ;;
  esac
}
complete -o bashdefault -o default -F _bezoar bezoar
