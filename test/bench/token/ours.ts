// This service on PostgreSQL: secret check, limits, audit row and ES256 JWT.
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { app } from "@signet/kernel/testing/records"
import { parseConfig } from "../../../server/node/config.ts"
import { createLog } from "../../../server/node/log.ts"
import { startProgram } from "../../../server/node/program.ts"
import { freePort } from "../../support/free-port.ts"
import { addMachine } from "../../support/machines.ts"
import { basic, type FormRequest, serveMeasured } from "./measured.ts"

const [, , databaseUrl = "", callers = "16"] = process.argv
const wide = { limit: 1_000_000 }
const config = parseConfig({
  SIGNET_PROFILE: "development",
  DATABASE_URL: databaseUrl,
  SIGNET_DATA: mkdtempSync(join(tmpdir(), "signet-bench-")),
  SIGNET_LIMITS: JSON.stringify({
    windows: {
      client_credentials: { ip: wide, client: wide },
      introspect: { caller: wide },
      login: { ip: wide },
      refresh: { ip: wide, session: wide },
    },
  }),
  PORT: String(await freePort()),
  ADMIN_PORT: "0",
})
const { deps, url } = await startProgram(config, createLog("silent"))
await deps.store.transaction((tx) => tx.apps.putApp(app))
const server = { app, deps, secrets: deps.secrets }

const owner = await addMachine(server, { ownedAudiences: ["svc-notes"], scopes: ["notes.read", "auth.introspect"] })
const requests: Record<string, FormRequest> = {}
for (let i = 0; i < Number(callers); i++) {
  const { account, secret } = await addMachine(server)
  requests[`token ${i}`] = {
    url: `${url}/auth/token`,
    headers: basic(account.clientId, secret),
    form: { grant_type: "client_credentials", audience: "svc-notes", scope: "notes.read" },
  }
  requests[`introspect ${i}`] = {
    url: `${url}/auth/token/introspect`,
    headers: basic(owner.account.clientId, owner.secret),
    form: {},
  }
}
serveMeasured({ requests })
