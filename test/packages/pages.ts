// Pages with what an app has at least, to be bundled and compiled.

/**
 * Kilobytes as they travel: of a page that signs in and calls one service, of one with the messenger, and of the files
 * that the messenger loads on demand: the Worker's script, and its engine with the core.
 */
export const maxKilobytes = { identity: 48, messenger: 64, worker: 72, core: 575 }

export const entry = `
import { createClient } from "@connectrpc/connect"
import { configure } from "@signet/client-web"
import { SessionService } from "@signet/proto/auth/v1/session_service"
const signet = configure({ appId: "app_1", authBaseUrl: "https://auth.example", providers: ["IDP_A"] })
console.log(await createClient(SessionService, signet.session.transport()).listSessions({}))
`

export const messengerEntry = `
import { configure } from "@signet/client-web"
import { createMessenger, messagingSession } from "@signet/client-web/messaging"
const appId = "app_1"
const signet = configure({ appId, authBaseUrl: "https://auth.example", providers: ["IDP_A"] })
const session = await messagingSession(signet.session, { appId })
const messaging = { baseUrl: "https://messages.example", issuerRootKeys: [new Uint8Array(32)] }
console.log((await createMessenger({ messaging, session })).deviceId)
`
