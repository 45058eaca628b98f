// Messaging clients of a server program in the development profile, and operator commands on its database.
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { createConnectTransport } from "@connectrpc/connect-node"
import { developmentAppId } from "@signet/development/app-id"
import { type Messengers, messengersOn, type Serving } from "../support/messaging/messengers.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import type { RunningProgram } from "../support/program.ts"

/** Clients that stay valid when the program restarts at the same URL. */
export function messengersOf({ url, output }: RunningProgram): Messengers {
  const rootKey = /pin the root key (\S+)/.exec(output())?.[1] ?? ""
  const serving = {
    app: { id: developmentAppId },
    issuerRootKey: new Uint8Array(Buffer.from(rootKey, "base64url")),
    messagingUrl: url,
    transport: createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: true }),
    person: () => developmentWorld(url).newUser(),
  }
  // Messengers use the id of the app only.
  return messengersOn(serving as unknown as Serving, { keyPackages: 4 })
}

const root = join(import.meta.dirname, "../..")
const main = join(root, "server/node/admin/main.ts")
/** As for a server: it halves the time of a command. */
const NODE_COMPILE_CACHE = join(root, "node_modules/.cache/signet/compiled")

/** Runs `admin …` with the server's settings. Rejects if its exit code is not 0. @returns Its JSON. */
export async function administer(settings: Readonly<Record<string, string>>, ...command: string[]): Promise<unknown> {
  const { PATH = "", HOME = "" } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE, ...settings }
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...command, "--json"], { env })
  return JSON.parse(stdout)
}
