// Neutralizes control characters in texts of others: they could move a terminal's cursor, overwrite text or reverse it.

const shown = "\ufffd"
const introducer = "\u001b"

/** One value on one line, without control characters. */
export const plain = (text: string): string => text.replace(/\p{Cc}|\p{Cf}/gu, shown)

/** Lines with values in them: line ends, tabs and colours stay. */
export const plainLines = (text: string): string =>
  text.replace(/\p{Cc}\[\d{1,3}m|\p{Cc}|\p{Cf}/gu, (found) =>
    found === "\n" || found === "\t" || found.startsWith(`${introducer}[`) ? found : shown,
  )

/** The same JSON, with every control character escaped. */
export const plainJson = (json: string): string =>
  json.replace(/(?!\n)\p{Cc}|\p{Cf}/gu, (found) =>
    found.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  )
