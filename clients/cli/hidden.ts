/** What the completion scripts ask; people do not see it. */
export const hiddenCommand = "__complete"
