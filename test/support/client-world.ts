// Clients of the real server, each a tab of one browser in memory, over a network that a test can cut.
import { connect, createSignet, type Platform, type Signet, type SignetConfig, type Wire } from "@signet/client"
import {
  type MemoryPlatforms,
  memoryPlatforms,
  type TestClock,
  testClock,
} from "../../clients/core/testing/memory-platform.ts"
import { startTestServer, type TestServer, type TestServerOptions } from "./server.ts"

/** Faults of a call. */
export type Fault =
  /** The request is lost. */
  | "lost"
  /** The request arrives, and its response is lost. */
  | "answer lost"
  /** A captive portal answers instead. */
  | "portal"

export interface ClientWorld {
  readonly server: TestServer
  readonly clock: TestClock
  /** Paths of all calls so far. */
  readonly calls: string[]
  /** Sets the faults of the next calls to a path, in order. */
  fail(path: string, ...faults: Fault[]): void
  /** A browser or a user account of a machine: separate storage, lock and channel. */
  browser(): MemoryPlatforms
  open(platform: Platform, change?: Partial<SignetConfig>): Signet
  /** Signs a client in. */
  signIn(signet: Signet, subject: string): Promise<void>
  /** Advances the time of all clients. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

export async function startClientWorld(options: TestServerOptions): Promise<ClientWorld> {
  const server = await startTestServer(options)
  // Another day than the server's: clients must not depend on synchronized clocks.
  const clock = testClock()
  const calls: string[] = []
  const faults: { path: string; fault: Fault }[] = []
  const opened: Signet[] = []

  const network: typeof globalThis.fetch = async (input, init) => {
    const path = new URL(String(input)).pathname.split("/").at(-1) ?? ""
    calls.push(path)
    const at = faults.findIndex((each) => each.path === path)
    const [fault] = at < 0 ? [] : faults.splice(at, 1)
    if (fault?.fault === "lost") throw new TypeError("fetch failed")
    if (fault?.fault === "portal") return new Response("<html>sign in to the wireless network", { status: 401 })
    const answer = await fetch(input, init)
    if (fault?.fault === "answer lost") throw new TypeError("fetch failed")
    return answer
  }
  const wire: Wire = ({ baseUrl, fetch: send }) => connect({ baseUrl, fetch: send ?? network })

  return {
    server,
    clock,
    calls,
    fail: (path, ...kinds) => faults.push(...kinds.map((fault) => ({ path, fault }))),
    browser: () => memoryPlatforms({ clock, wire }),
    open(platform, change) {
      const config: SignetConfig = {
        appId: server.app.id,
        authBaseUrl: server.url,
        providers: ["IDP_A"],
        ...change,
      }
      const signet = createSignet(config, { ...platform, fetch: network })
      opened.push(signet)
      return signet
    },
    async signIn(signet, subject) {
      const { credential, nonce = "" } = await server.login(subject)
      const idToken = credential?.case === "idToken" ? credential.value : ""
      await signet.login({ provider: "IDP_A", nonce, credential: { idToken } })
    },
    async pass(ms) {
      server.advance(ms)
      await clock.pass(ms)
    },
    async close() {
      for (const signet of opened) signet.close()
      await server.close()
    },
  }
}
