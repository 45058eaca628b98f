/** What the completion scripts ask; people do not see it. */
export const hiddenCommand = "__complete"
/** What starts this program as the unlock agent. */
export const hiddenAgent = "__unlock-agent"
