import { isPushHost } from "@signet/kernel/messaging/push"

export interface PushSettings {
  /** Host names that endpoints may have; `*.example` allows each subdomain. */
  readonly hosts: readonly string[]
  /** PKCS #8 in DER, as base64. */
  readonly key: string
  /** A `mailto:` or `https:` URI. */
  readonly contact: string
}

/** Parses the settings of pushes, and adds a sentence for each problem. @returns Null if pushes are disabled. */
export function parsePushSettings(
  given: {
    readonly hosts?: string | undefined
    readonly key?: string | undefined
    readonly contact?: string | undefined
  },
  isDevelopment: boolean,
  problems: string[],
): PushSettings | null {
  const { hosts: listed, key, contact } = given
  if (listed === undefined && key === undefined && contact === undefined) return null
  if (listed === undefined || key === undefined || contact === undefined) {
    problems.push("SIGNET_PUSH_HOSTS, SIGNET_PUSH_KEY and SIGNET_PUSH_CONTACT must be set together.")
    return null
  }
  const hosts = listed.split(",").flatMap((each) => each.trim() || [])
  if (hosts.length === 0 || hosts.some((host) => !isPushHost(host, isDevelopment))) {
    problems.push(
      "SIGNET_PUSH_HOSTS must be comma-separated public host names, such as push.example or *.push.example.",
    )
  }
  if (!/^(mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s]+)$/.test(contact)) {
    problems.push("SIGNET_PUSH_CONTACT must be a mailto: or https: URI.")
  }
  return { hosts, key, contact }
}
