// The messaging backends that the chat can use, and the one that the person has chosen in this browser.
import type { Settings } from "../settings.ts"
import { t } from "../text/chat.ts"

export interface Backend {
  readonly name: string
  readonly url: string
  /** The name of the database in this browser; undefined for the usual one. Each backend has devices of its own. */
  readonly storeSuffix: string | undefined
}

const key = "signet.chat.backend"

/** The server of this page, and a second one if the server's settings name it. */
export function backendsOf({ secondBackend }: Settings): readonly [Backend, ...Backend[]] {
  const own = { name: t.chat.backends.own, url: location.origin, storeSuffix: undefined }
  if (secondBackend === null) return [own]
  const { host } = new URL(secondBackend)
  return [own, { name: t.chat.backends.second(host), url: secondBackend, storeSuffix: host }]
}

/** The chosen backend; this server's without a choice. */
export function chosenBackend(settings: Settings): Backend {
  const [own, second] = backendsOf(settings)
  return second !== undefined && second.url === localStorage.getItem(key) ? second : own
}

export const chooseBackend = ({ url }: Backend): void => localStorage.setItem(key, url)
