/** The hidden command that the completion scripts call. */
export const hiddenCommand = "__complete"
/** The hidden command that starts this program as the unlock agent. */
export const hiddenAgent = "__unlock-agent"
