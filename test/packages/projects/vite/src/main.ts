import { createClient } from "@connectrpc/connect"
import { configure, needsSignIn } from "@signet/client-web"
import { SessionService } from "@signet/proto/auth/v1/session_service"

if (location.search === "?core") {
  const { reasonOfCore } = await import("./core")
  document.body.textContent = await reasonOfCore()
}

const appId = "app_01kdvdna00edmtevk5ehj6axhg"
const authBaseUrl = "http://127.0.0.1:8080"
const signet = configure({ appId, authBaseUrl, providers: ["IDP_A"] })

for await (const state of signet.session) {
  document.title = state.is === "signedIn" ? "Notes" : "Sign in"
  if (state.is !== "signedIn") continue
  try {
    const { sessions } = await createClient(SessionService, signet.session.transport()).listSessions({})
    const { createMessenger, messagingSession } = await import("@signet/client-web/messaging")
    const session = await messagingSession(signet.session, { appId })
    const messaging = { baseUrl: authBaseUrl, issuerRootKeys: [new Uint8Array(32)] }
    const messenger = await createMessenger({ messaging, session })
    document.body.textContent = `${sessions.length} ${messenger.deviceId}`
  } catch (error) {
    if (!needsSignIn(error)) throw error
  }
}
