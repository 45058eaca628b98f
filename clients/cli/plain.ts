// What others have said may hold what moves a terminal's cursor, writes over what stands there, or turns text around.

const shown = "\ufffd"
const introducer = "\u001b"

/** One value: nothing in it is acted on, and it is one line. */
export const plain = (text: string): string => text.replace(/\p{Cc}|\p{Cf}/gu, shown)

/** Lines with values in them: line ends, tabs and colours stay. */
export const plainLines = (text: string): string =>
  text.replace(/\p{Cc}\[\d{1,3}m|\p{Cc}|\p{Cf}/gu, (found) =>
    found === "\n" || found === "\t" || found.startsWith(`${introducer}[`) ? found : shown,
  )

/** The same JSON, in which every such character is escaped. */
export const plainJson = (json: string): string =>
  json.replace(/(?!\n)\p{Cc}|\p{Cf}/gu, (found) =>
    found.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  )
