import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type MessagingServer, startMessagingServer } from "../../../test/support/messaging/test-server.ts"
import { storyStore } from "../../../test/support/postgres.ts"
import { createMessagingMover } from "../../rpc/admin/create-backend.ts"
import { parseConfig } from "../config.ts"
import { messaging } from "./messaging.ts"

const folder = mkdtempSync(join(tmpdir(), "signet-mover-"))
let server: MessagingServer
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
})
afterAll(async () => {
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

const config = () => parseConfig({ SIGNET_DATA: join(folder, "nothing"), SIGNET_ISSUER: server.url })

test.each([
  [[]],
  [["move"]],
  [["move", "--app", "app_1", "--from", "http://a", "--to", "http://b", "--client", "c", "--secret-file", "f"]],
  [["erase", "--to", "http://b"]],
  [["account"]],
  [["move", "--all"]],
])("%j is answered with the list of commands, before anything is opened", async (args) => {
  await expect(async () => messaging(args, config())).rejects.toThrow("messaging account --app")
})

test("prints a place's status at both backends with its own token, and names obstacles", async () => {
  const asked = { appId: server.app.id, name: "mover", messagingAudience: "auth", replaces: false }
  const { clientId, clientSecret } = await createMessagingMover(server.deps, asked)
  const file = join(folder, "secret")
  writeFileSync(file, `${clientSecret}\n`)
  const at = ["--from", server.url, "--to", server.url, "--app", server.app.id]
  const credentials = ["--client", clientId, "--secret-file", file]
  const { json } = await messaging(["status", ...at, ...credentials], config())
  expect(json).toEqual({ source: "OPEN", target: "OPEN" })
  await expect(messaging(["abort", ...at, ...credentials], config())).rejects.toThrow("No transfer is in progress")
  await expect(messaging(["erase", ...at, ...credentials], config())).rejects.toThrow(
    "Only a scope that was moved away",
  )
  writeFileSync(file, "wrong")
  await expect(messaging(["status", ...at, ...credentials], config())).rejects.toThrow(
    "issued no token: invalid_client",
  )
})
