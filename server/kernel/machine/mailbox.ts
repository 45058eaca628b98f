// Names of mailboxes, to which actors post messages, and patterns of them.

/** A mailbox: an audience that the receiving service owns, and a name that the service chooses. */
interface Mailbox {
  readonly audience: string
  readonly name: string
}

const name = /^[A-Za-z0-9._-]{1,64}$/

/** Parses `audience/name`; undefined if malformed. The audience may contain slashes. */
export function parseMailbox(text: string): Mailbox | undefined {
  const mailbox = split(text)
  return mailbox !== undefined && name.test(mailbox.name) ? mailbox : undefined
}

/** Parses a mailbox or `audience/*`, which matches every mailbox of the audience. Undefined if malformed. */
export function parseMailboxPattern(text: string): Mailbox | undefined {
  const pattern = split(text)
  return pattern !== undefined && (pattern.name === "*" || name.test(pattern.name)) ? pattern : undefined
}

/** True if one of the patterns matches the mailbox. */
export function isPostable(patterns: readonly string[], mailbox: string): boolean {
  const audience = parseMailbox(mailbox)?.audience
  return audience !== undefined && patterns.some((one) => one === mailbox || one === `${audience}/*`)
}

function split(text: string): Mailbox | undefined {
  const at = text.lastIndexOf("/")
  return at < 1 || at > 128 ? undefined : { audience: text.slice(0, at), name: text.slice(at + 1) }
}
