// From the end of something at one server to its refusal where nobody is asked: at a service that follows the same server,
// at one that follows a second server, at a port, at a mailbox, and at an edge worker in workerd. The second server is the
// program in a process of its own: the two share a PostgreSQL and tell each other by NOTIFY. And the feed under 1,000
// revocations a second.
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { guardPort } from "@signet/guard/port"
import { newId, parseId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import { statementClaims } from "@signet/kernel/revocation/statement"
import { build } from "esbuild"
import { Miniflare } from "miniflare"
import { every } from "../../server/node/every.ts"
import { createRevocationFeed } from "../../server/rpc/revocation/feed.ts"
import { newGrant, newRole } from "../../server/store/postgres/testing/administration.ts"
import { bearer, type Clients, clientsOver, protocols } from "../support/clients.ts"
import { addReader, anybody, follow } from "../support/followed.ts"
import { claimsOf } from "../support/people.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startTestServer, type TestServer } from "../support/server.ts"
import { openMailbox } from "./revocation/mailbox.ts"
import { startSecond } from "./revocation/second.ts"
import { startInProcess } from "./servers/in-process.ts"

export interface Row {
  readonly name: string
  readonly rounds?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly perSecond?: number
  readonly entries?: number
  readonly feedMB?: number
}

/** `compromises` of keys: after each, verifiers ask for the new key half a minute later. */
export const sizes = {
  usual: { rounds: 30, compromises: 3, seconds: 10 },
  smallest: { rounds: 1, compromises: 0, seconds: 0.5 },
}

export async function run({ rounds, compromises, seconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres({})
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const closing: (() => unknown)[] = [() => postgres.stop()]
  try {
    const one = await startInProcess(postgres.url, startTestServer)
    closing.push(one.close)
    const { server } = one
    closing.push(every(1_000, server.keys.tick, console.error))
    const two = await startSecond(postgres.url, server.deps.issuer)
    closing.push(two.close)
    const reader = await addReader(server)
    const near = follow(server, reader)
    const second = { ...server, url: two.url }
    const far = follow(second, reader)
    for (const { feed } of [near, far]) {
      feed.start()
      closing.push(() => feed.stop())
    }
    const port = guardPort({ guard: far.guard, requirement: anybody }, () => "allow")
    const mailbox = await openMailbox(second, far)
    const worker = await startWorker(server, reader)
    closing.push(() => worker.dispose())
    const targets: Record<string, (token: string) => Promise<boolean>> = {
      "the same server": async (token) => (await near.decide(token)) !== "allow",
      "a second server": async (token) => (await far.decide(token)) !== "allow",
      "a port": (token) =>
        port({ authorization: `Bearer ${token}`, values: new Map() }, {}).then(
          () => false,
          () => true,
        ),
      "a mailbox": mailbox,
      "an edge worker": async (token) => {
        const headers = { authorization: `Bearer ${token}` }
        return (await worker.dispatchFetch("https://notes.example/notes", { headers })).status === 401
      },
    }
    return [...(await ends(server, targets, { rounds, compromises })), ...(await load(server, near, seconds))]
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

/** A target that has not heard of an end by then never will. */
const longestMs = 60_000

type Targets = Record<string, (token: string) => Promise<boolean>>

/** How long each end takes to be seen everywhere, from before it is asked for. */
async function ends(
  server: TestServer,
  targets: Targets,
  { rounds, compromises }: { rounds: number; compromises: number },
): Promise<Row[]> {
  const clients = clientsOver((protocols.gRPC ?? fail())(server.url))
  const inStore = (work: (tx: Tx, nowMs: number) => Promise<unknown>) =>
    server.deps.store.transaction((tx) => work(tx, server.deps.clock.nowMs()))
  const happenings: Record<string, (session: Session) => Promise<unknown>> = {
    logout: ({ auth }) => clients.auth.logout({}, bearer(auth)),
    "grant removal": ({ grantId }) => inStore((tx, nowMs) => tx.grants.revoke(grantId, nowMs)),
    "principal suspension": ({ principalId }) =>
      inStore((tx, nowMs) => tx.principals.end(principalId, "SUSPENDED", nowMs)),
    // What calls carry is signed with one key, what messages carry with another.
    "key compromise": ({ notes }) =>
      Promise.all([kidOf(notes), kidOf(server.keys.sign("ctx+jwt", {}))].map((kid) => server.keys.compromise(kid))),
  }
  const times = new Map<string, number[]>()
  for (const [name, end] of Object.entries(happenings)) {
    const count = name === "key compromise" ? compromises : rounds
    for (let round = 0; round < count; round++) {
      const session = await signIn(server, clients)
      for (const [target, isRefused] of Object.entries(targets)) {
        // After a compromise the key that signs is new to verifiers: they ask for it, at most once in half a minute.
        while (await isRefused(session.notes)) {
          if (name !== "key compromise") throw new Error(`${target} refuses before ${name}`)
          await pause(250)
        }
      }
      const began = performance.now()
      const ended = end(session)
      await Promise.all(
        Object.entries(targets).map(async ([target, isRefused]) => {
          const row = `${name}, at ${target}`
          while (!(await isRefused(session.notes))) {
            if (performance.now() - began > longestMs) throw new Error(`${row}: not refused after ${longestMs} ms`)
            await pause(5)
          }
          times.set(row, [...(times.get(row) ?? []), performance.now() - began])
        }),
      )
      await ended
    }
  }
  return Array.from(times, ([name, measured]) => ({ name, rounds: measured.length, ...percentiles(measured) }))
}

/** 1,000 revocations a second, and among them tokens whose refusal is waited for. */
async function load(server: TestServer, near: ReturnType<typeof follow>, seconds: number): Promise<Row[]> {
  const clients = clientsOver((protocols.gRPC ?? fail())(server.url))
  const { notes } = await signIn(server, clients)
  const claims = claimsOf(notes)
  const perTick = 20
  const until = performance.now() + seconds * 1_000
  const began = performance.now()
  let written = 0
  const lags: number[] = []
  const revoke = (keys: readonly string[]) =>
    server.deps.store.transaction((tx) => {
      const expiresAtMs = server.deps.clock.nowMs() + 930_000
      return tx.revocations.add(keys.map((key) => ({ kind: "TOKEN", key, expiresAtMs })))
    })
  const writing = (async () => {
    for (let due = began; due < until; due += perTick) {
      await pause(Math.max(0, due - performance.now()))
      // Each in a transaction of its own, as revocations come.
      await Promise.all(Array.from({ length: perTick }, () => revoke([jti()])))
      written += perTick
    }
  })()
  while (performance.now() < until) {
    const id = jti()
    const token = server.keys.sign("at+jwt", { ...claims, jti: id })
    await near.decide(token)
    const asked = performance.now()
    await revoke([id])
    while ((await near.decide(token)) === "allow") await pause(2)
    lags.push(performance.now() - asked)
    await pause(50)
  }
  await writing
  const perSecond = written / ((performance.now() - began) / 1_000)
  const name = "lag under 1,000 revocations a second"
  return [{ name, rounds: lags.length, perSecond, ...percentiles(lags) }, await whole(server, near)]
}

/** What a reader that begins takes over. */
async function whole(server: TestServer, near: ReturnType<typeof follow>): Promise<Row> {
  const { clock, issuer } = server.deps
  const log = createRevocationFeed({ log: server.store.revocationLog, clock, issuer, announce: () => {} })
  let bytes = 0
  const began = performance.now()
  for (let place = 0, head = -1; place !== head; ) {
    const statement = await log.after(place)
    bytes += server.keys.sign("rev+jwt", statementClaims(statement)).length
    ;({ to: place, head } = statement)
  }
  const p50Ms = performance.now() - began
  return { name: "a snapshot of all that", entries: near.feed.size, feedMB: bytes / 1e6, p50Ms }
}

interface Session {
  readonly notes: string
  readonly auth: string
  readonly principalId: Parameters<Tx["principals"]["end"]>[0]
  readonly grantId: Parameters<Tx["grants"]["revoke"]>[0]
}

async function signIn(server: TestServer, clients: Clients): Promise<Session> {
  const login = { ...(await server.login(`person ${Math.random()}`)), audiences: ["svc-notes", "auth"] }
  const { accessTokens } = await clients.auth.externalLogin(login)
  const { "svc-notes": notes = "", auth = "" } = accessTokens
  const principalId = parseId("prn", String(claimsOf(notes).sub)) ?? fail()
  const role = newRole({ appId: server.app.id, tenantId: null })
  const grant = newGrant({ appId: server.app.id, tenantId: null, contextId: null, principalId, roleId: role.id })
  await server.deps.store.transaction(async (tx) => {
    await tx.roles.insert(role)
    await tx.grants.insert(grant)
  })
  return { notes, auth, principalId, grantId: grant.id }
}

async function startWorker(
  server: TestServer,
  { account, secret }: Awaited<ReturnType<typeof addReader>>,
): Promise<Miniflare> {
  const script = join(import.meta.dirname, "../../docs/examples/edge-revocations/worker.ts")
  const bundled = { bundle: true, write: false, format: "esm", platform: "neutral", target: "es2024" } as const
  const { outputFiles } = await build({ entryPoints: [script], ...bundled })
  return new Miniflare({
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-07-01",
    bindings: {
      ISSUER: server.deps.issuer,
      APP_ID: server.app.id,
      AUTH_URL: server.url,
      CLIENT_ID: account.clientId,
      CLIENT_SECRET: secret,
    },
  })
}

function percentiles(measured: readonly number[]): { p50Ms: number; p99Ms: number } {
  const sorted = measured.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

const jti = () => newId("jti", Date.now(), randomBytes(10))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid

function fail(): never {
  throw new Error("it is not there")
}
