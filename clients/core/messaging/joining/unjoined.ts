// Requests to be added where no member did it when this device was registered.
import { DirectiveKind } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { nowSeconds } from "../deps.ts"
import { answeredId } from "../ids.ts"
import { trying } from "../sync/background.ts"
import { allPages } from "../sync/pages.ts"

/**
 * The age of the credential, from which on the device asks. The service dates a credential 300 seconds back. Members
 * that get the hint of a new device add it within 20 seconds.
 */
const askedFromSeconds = 320
/** The delay of a request after the registration. */
export const askAfterMs = 30_000

/**
 * Requests a rejoin in each conversation in which another device of the user is a member and this one is not. The hint
 * of a new device reaches only members that are online; the directive stays until a member carries it out.
 */
export async function askForUnjoined(context: Context): Promise<void> {
  const { calls, device } = context
  if (nowSeconds(context) < device.notBefore + askedFromSeconds) return
  const unjoined = await allPages(async (pageToken) => {
    const page = await calls.conversations.listConversations({ pageToken, pageSize: 200, unjoined: true })
    return { items: page.conversations, nextPageToken: page.nextPageToken }
  })
  for (const { id, directives } of unjoined) {
    const isAsked = directives.some(({ kind, deviceId }) => kind === DirectiveKind.REJOIN && deviceId === device.id)
    if (isAsked) continue
    const conversationId = answeredId("cnv", id)
    await trying(context, conversationId, async () => {
      await calls.conversations.requestRejoin({ conversationId })
    })
  }
}
