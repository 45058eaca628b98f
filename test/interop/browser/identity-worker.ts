// A service worker of the app: it shares the sign-in of the app's pages, and answers a message with a token's end.
import type { Signet } from "@signet/client"
import { configure } from "@signet/client-web"
import { type ClientSettings, setClock } from "./client-settings.ts"

let signet: Signet | undefined

addEventListener("message", (event: MessageEvent<ClientSettings>) => {
  const { jumpMs, ...settings } = event.data
  setClock(jumpMs)
  signet ??= configure({ ...settings, providers: ["IDP_A"] })
  signet.session.accessToken().then(
    (token) => event.ports[0]?.postMessage(token.slice(-20)),
    (error: unknown) => event.ports[0]?.postMessage(String(error)),
  )
})
