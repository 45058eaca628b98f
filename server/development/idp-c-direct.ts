// Parts of the stand-in for IDP_C outside the protocol: its mails, the page that they link to, and its switches.
import { randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { linkPage } from "./idp-c-link-page.ts"
import type { Project } from "./idp-c-project.ts"
import { answer, answerJson, parseFields, readText } from "./raw-http.ts"

export interface Switches {
  down: boolean
  delayMs: number
}

/**
 * Answers requests below the stand-in's path. Reading consumes no link.
 *
 * - GET `/outbox`: the sent mails, newest first.
 * - GET `/link`: an app's page with the button that redeems a link.
 * - POST `/switches` `{down?, delayMs?, spelling?, isSignupDisabled?}`: changes the project's behavior.
 */
export async function answerDirectly(
  { project, switches }: { project: Project; switches: Switches },
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isRead = request.method === "GET" || request.method === "HEAD"
  if (isRead && path === "/outbox") return answerJson(response, 200, { mails: project.outbox.toReversed() })
  if (isRead && path === "/link") return answerLinkPage(response)
  if (request.method !== "POST" || path !== "/switches") return answerJson(response, 404, { error: "not_found" })
  const fields = parseFields(await readText(request))
  const turned = fields && turn(project, switches, fields)
  return turned === undefined
    ? answerJson(response, 400, { error: "invalid_request" })
    : answerJson(response, 200, turned)
}

function answerLinkPage(response: ServerResponse): void {
  const nonce = randomBytes(12).toString("base64")
  // The URL contains the link's token hash.
  response.setHeader("referrer-policy", "no-referrer")
  response.setHeader(
    "content-security-policy",
    `default-src 'none'; script-src 'nonce-${nonce}'; connect-src 'self'; frame-ancestors 'none'`,
  )
  answer(response, 200, "text/html; charset=utf-8", linkPage(nonce))
}

/** Undefined, and nothing changes, if a switch is unknown or has an invalid value. */
function turn({ settings }: Project, switches: Switches, fields: Record<string, unknown>): object | undefined {
  const { down = switches.down, delayMs = switches.delayMs, ...others } = fields
  const { spelling = settings.spelling, isSignupDisabled = settings.isSignupDisabled, ...unknown } = others
  if (typeof down !== "boolean" || typeof isSignupDisabled !== "boolean" || Object.keys(unknown).length > 0) {
    return undefined
  }
  if (typeof delayMs !== "number" || !(delayMs >= 0 && delayMs <= 60_000)) return undefined
  if (spelling !== "codes" && spelling !== "sentences") return undefined
  Object.assign(switches, { down, delayMs })
  Object.assign(settings, { spelling, isSignupDisabled })
  return { down, delayMs, spelling, isSignupDisabled }
}
