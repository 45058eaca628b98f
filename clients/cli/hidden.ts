/** What the completion scripts ask; people do not see it. */
export const hiddenCommand = "__complete"
/** The hidden command that starts this program as the unlock agent. */
export const hiddenAgent = "__unlock-agent"
