// The page of the scenario: one device, over the public calls of the library for pages.
import { configure } from "@signet/client-web"
import { createMessenger, messagingSession } from "@signet/client-web/messaging"
import * as backup from "@signet/client-web/messaging/backup"
import * as history from "@signet/client-web/messaging/history"
import { type DeviceOptions, type ScenarioClient, type StepName, stepOf } from "../../support/native/scenario/client.ts"
import { scenarioOverMessenger } from "../../support/native/scenario/over-messenger.ts"

export interface PageDevice extends Omit<DeviceOptions, "folder" | "rootKey"> {
  readonly rootKey: readonly number[]
  readonly core: "direct" | "wasm"
}

export type PageAnswer = { readonly ok: unknown } | { readonly failed: { reason?: string; message?: string } }

declare global {
  interface Window {
    scenario: {
      open(device: PageDevice): void
      step(name: StepName, args: readonly string[]): Promise<PageAnswer>
    }
    /** The test's files: a page has none. */
    readTestFile(path: string): Promise<number[]>
    writeTestFile(path: string, bytes: number[]): Promise<void>
  }
}

const files = {
  open: async (path: string) => new Blob([Uint8Array.from(await window.readTestFile(path))]),
  save: (path: string, bytes: Uint8Array) => window.writeTestFile(path, [...bytes]),
}

let client: Partial<ScenarioClient> = {}

window.scenario = {
  open({ appId, authUrl, messagingUrl, audience, rootKey, core }) {
    const signet = configure({ appId, authBaseUrl: authUrl, providers: ["IDP_A"], audiences: [audience] })
    client = {
      async signIn(nonce, idToken) {
        return (await signet.login({ provider: "IDP_A", nonce, credential: { idToken } })).user.principalId
      },
      async openMessenger() {
        const messenger = await createMessenger({
          messaging: { baseUrl: messagingUrl, issuerRootKeys: [Uint8Array.from(rootKey)] },
          session: await messagingSession(signet.session, { appId, audience }),
          core,
        })
        Object.assign(client, scenarioOverMessenger(messenger, { files, backup, history }))
        return messenger.deviceId
      },
      async signOut() {
        await signet.session.logout()
      },
    }
  },
  step: (name, args) =>
    stepOf(client, name, args).then(
      (ok) => ({ ok: ok ?? null }),
      (error: unknown) => {
        const { reason, message } = Object(error) as Record<string, string>
        return { failed: { ...(reason && { reason }), ...(message && { message }) } }
      },
    ),
}
