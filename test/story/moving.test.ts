// An app moves from one messaging backend to another and back while its people write. They notice a short time without
// writes, and nothing else.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readBackup, storeBackup, storedBackup } from "@signet/client/messaging/backup"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { abortMove, eraseMoved } from "../../server/node/admin/moving/move.ts"
import { createMessagingMover } from "../../server/rpc/admin/create-backend.ts"
import { refusal } from "../support/clients.ts"
import { startEdgeServer } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { messagingCommand } from "../support/messaging/move-command.ts"
import { backendAt, connectTo, moveBehind, moverOf, startLoad } from "../support/messaging/moving.ts"
import { startSecondBackend } from "../support/messaging/second-backend.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { expectWhole, writeOnce, writersIn } from "../support/messaging/writers.ts"
import { noPostgres } from "../support/postgres.ts"
import { type Switchable, startSwitchable } from "../support/switchable.ts"

const kind = noPostgres === undefined ? "postgres" : "pglite"

/** Two backends of one auth service: the address of each for clients, and for the move command. */
interface Pair {
  readonly server: MessagingServer
  readonly audience: string
  readonly first: { readonly url: string; readonly transferUrl: string }
  readonly second: { readonly url: string; readonly transferUrl: string }
  close(): Promise<void>
}

async function nodeAndNode(): Promise<Pair> {
  const server = await startMessagingServer({ store: kind })
  const other = await startSecondBackend(server, kind)
  return {
    server,
    audience: "auth",
    first: { url: server.url, transferUrl: server.url },
    second: { url: other.url, transferUrl: other.url },
    async close() {
      await other.close()
      await server.close()
    },
  }
}

async function nodeAndWorker(): Promise<Pair> {
  const edge = await startEdgeServer({ store: kind, isMoving: true })
  const { node: server, audience, messagingUrl, transferUrl = "" } = edge
  return {
    server,
    audience,
    first: { url: server.url, transferUrl: server.url },
    second: { url: messagingUrl, transferUrl },
    close: () => edge.close(),
  }
}

const pairs = [
  ["two Node servers", nodeAndNode],
  ...effort(
    [],
    [["a Node server and the Worker", nodeAndWorker]] as const,
    [["a Node server and the Worker", nodeAndWorker]] as const,
  ),
] as const

describe.each(pairs)("between %s", (_, start) => {
  let pair: Pair
  let server: MessagingServer
  let address: Switchable
  let messengers: Messengers
  let bearer: () => Promise<string>
  beforeAll(async () => {
    pair = await start()
    server = pair.server
    address = await startSwitchable(pair.first.url)
    messengers = messengersOn(server)
    bearer = await moverOf(server, pair.audience)
  }, 120_000)
  afterAll(async () => {
    await messengers?.close()
    await address?.close()
    await pair?.close()
  })

  const place = () => ({ appId: server.app.id, tenantId: null })
  const backends = () => ({
    first: backendAt(pair.first.transferUrl, place(), bearer),
    other: backendAt(pair.second.transferUrl, place(), bearer),
  })
  const utf8 = (text: string) => new TextEncoder().encode(text)
  const textsOf = async ({ messenger }: OpenedMessenger, id: string) => {
    await messenger.sync()
    return (await messenger.timeline(id, { limit: 1_000 })).flatMap((entry) =>
      entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
    )
  }
  async function bytesOf({ messenger }: OpenedMessenger, id: string, seq: bigint): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    for await (const piece of (await messenger.openAttachment(id, seq)).stream()) pieces.push(piece)
    return new Uint8Array(Buffer.concat(pieces))
  }

  test.runIf(isLong)(
    "a move and a move back under load: nothing is lost or duplicated, nobody rejoins, and verifications stay",
    async () => {
      const transport = connectTo(address.url)
      const world = { baseUrl: address.url, newUser: () => server.person(crypto.randomUUID()) }
      const writers = await writersIn(world, transport, effort(2, 8, 8))
      const ann = await messengers.newcomer("ann", { transport })
      const ben = await messengers.newcomer("ben", { transport })
      const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
      await ann.messenger.send(id, utf8("before"))
      expect(await textsOf(ben, id)).toEqual(["before"])
      const { safetyNumber } = await ann.messenger.verification.of(ben.person.userId)
      await ann.messenger.verification.markVerified(ben.person.userId, safetyNumber)
      const file = new Uint8Array(1_500_000).map((_, i) => i % 251)
      const { seq } = await ann.messenger.sendAttachment(id, new Blob([file]), {
        fileName: "a.bin",
        mediaType: "application/octet-stream",
      })
      const { recoveryKey } = await storeBackup(ann.messenger)
      // Cid is invited, but has not synced yet.
      const cid = await messengers.newcomer("cid", { transport })
      const { id: groupId } = await ann.messenger.createGroupConversation([ben.person.userId, cid.person.userId])

      const { first, other } = backends()
      const load = startLoad(writers)
      const pauses: number[] = []
      let isThere = false
      // An even number: later tests expect the tenant where it was.
      for (let round = 0; round < effort(2, 2, 20); round++) {
        const [source, target] = isThere ? [other, first] : [first, other]
        const [sourceUrl, targetUrl] = isThere ? [pair.second.url, pair.first.url] : [pair.first.url, pair.second.url]
        await new Promise((resolve) => setTimeout(resolve, effort(100, 1_000, 1_000)))
        let heldAt = 0
        const moved = await moveBehind(address, {
          source,
          target,
          targetUrl,
          onProgress: ({ step }) => {
            if (step === "held") heldAt = performance.now()
            if (step === "open") pauses.push(performance.now() - heldAt)
          },
        })
        expect(moved.counts.attachmentPart).toBeGreaterThan(0)
        expect(moved.counts.backup).toBe(1)
        expect(moved.counts.backupChunk).toBeGreaterThan(0)
        expect(moved.conversations).toBeGreaterThanOrEqual(3)
        // A client with the old address gets a retryable error only.
        const late = await messengers
          .open(ben.person, { ...ben, transport: connectTo(sourceUrl) })
          .catch(() => undefined)
        await late?.messenger.close()
        await eraseMoved(source)
        expect(await source.status()).toMatchObject({ state: "MOVED", isEmpty: true })
        isThere = !isThere
        await ann.messenger.send(id, utf8(`round ${round}`))
      }
      await load.stop()
      await expectWhole(writers)
      // Or without a reason: the switch of the address cut the connection.
      for (const reason of load.refusals.keys()) expect(reason).toMatch(/^Unavailable PLACE_HELD$| undefined$/)
      expect([...load.refusals.keys()].join()).toContain("PLACE_HELD")

      const rounds = Array.from({ length: effort(2, 2, 20) }, (_, round) => `round ${round}`)
      expect(await textsOf(ben, id)).toEqual(["before", ...rounds])
      expect(Buffer.compare(await bytesOf(ben, id, seq), file)).toBe(0)
      const backup = await readBackup(ann.messenger, storedBackup(ann.messenger), { recoveryKey })
      expect(backup.conversations).toBeGreaterThan(0)
      expect(await ann.messenger.verification.status(ben.person.userId)).toBe("verified")
      // The welcome from before the move, and a commit whose receipt is of another backend.
      expect((await ann.messenger.conversation(groupId))?.memberUserIds).toHaveLength(3)
      await cid.messenger.sync()
      const dee = await messengers.newcomer("dee", { transport })
      await ann.messenger.addMembers(groupId, [dee.person.userId])
      await ann.messenger.send(groupId, utf8("all here"))
      for (const one of [ben, cid, dee]) expect(await textsOf(one, groupId)).toEqual(["all here"])
      const longest = Math.round(Math.max(...pauses))
      console.info(
        `unavailable: held for ${longest} ms at most; no write was taken for ${Math.round(load.longestMs())} ms`,
      )
      expect(longest).toBeLessThan(20_000)
    },
    600_000,
  )

  test.skipIf(effort(true, false, false))(
    "the command that is killed anywhere continues or aborts, and at most one backend is open",
    async () => {
      const folder = mkdtempSync(join(fastTmpdir(), "signet-move-"))
      const asked = { appId: server.app.id, name: "command", messagingAudience: pair.audience, replaces: false }
      const { clientId, clientSecret } = await createMessagingMover(server.deps, asked)
      const secretFile = join(folder, "secret")
      writeFileSync(secretFile, clientSecret)
      const world = { baseUrl: address.url, newUser: () => server.person(crypto.randomUUID()) }
      const writers = await writersIn(world, connectTo(address.url), 2)
      const account = {
        authUrl: server.url,
        folder,
        appId: server.app.id,
        clientId,
        secretFile,
        audience: pair.audience,
      }
      const { first, other } = backends()
      let isThere = false
      for (const at of ["held", "copying", "compared", "open"]) {
        const [source, target] = isThere ? [other, first] : [first, other]
        const [from, to] = isThere ? [pair.second, pair.first] : [pair.first, pair.second]
        const command = { ...account, from: from.transferUrl, to: to.transferUrl }
        for (const writer of writers) await writeOnce(writer, false)
        expect(await messagingCommand("move", command, at)).toMatchObject({ code: null })
        const [here, there] = [await source.status(), await target.status()]
        expect([here.state, there.state], at).not.toEqual(["OPEN", "OPEN"])
        if (here.state === "HELD") {
          const aborted = await messagingCommand("abort", command)
          expect(aborted, aborted.said).toMatchObject({ code: 0 })
          expect((await source.status()).state).toBe("OPEN")
          // The target is closed if the command reached it; otherwise it has no state.
          expect(await target.status()).toMatchObject({ isEmpty: true })
          for (const writer of writers) await writeOnce(writer, false)
        } else {
          expect((await messagingCommand("abort", command)).said).toMatch(
            /run `messaging move` again|No transfer is in progress/,
          )
          // The same call without the command is refused, too.
          if (here.state === "GIVEN") {
            const aborted = refusal(source.change(here.transferId, "ABORT"))
            expect(await aborted).toBe("FailedPrecondition STATE_CONFLICT")
          }
        }
        const moved = await messagingCommand("move", command)
        expect(moved, moved.said).toMatchObject({ code: 0 })
        expect([(await source.status()).state, (await target.status()).state]).toEqual(["MOVED", "OPEN"])
        address.switchTo(to.url)
        await eraseMoved(source)
        isThere = !isThere
      }
      await expectWhole(writers)
      rmSync(folder, { recursive: true })
    },
    300_000,
  )

  test.skipIf(effort(true, false, false))(
    "an aborted move changes nothing and can be started again, one that the source has finished only continues",
    async () => {
      const { first, other } = backends()
      const transport = connectTo(server.url)
      const world = { baseUrl: server.url, newUser: () => server.person(crypto.randomUUID()) }
      const writers = await writersIn(world, transport, 2)
      const failing = {
        ...other,
        page: () => Promise.reject(new Error("the target went away")),
      }
      await expect(moveBehind(address, { source: first, target: failing, targetUrl: pair.second.url })).rejects.toThrow(
        "went away",
      )
      expect((await first.status()).state).toBe("HELD")
      await abortMove({ source: first, target: other })
      expect(await other.status()).toMatchObject({ state: "MOVED", isEmpty: true })
      const load = startLoad(writers)
      await new Promise((resolve) => setTimeout(resolve, 100))
      await load.stop()
      await expectWhole(writers)
      const unopened: typeof other = {
        ...other,
        change: (id, change) =>
          change === "FINISH" ? Promise.reject(new Error("the target went away")) : other.change(id, change),
      }
      await expect(
        moveBehind(address, { source: first, target: unopened, targetUrl: pair.second.url }),
      ).rejects.toThrow("went away")
      expect((await first.status()).state).toBe("GIVEN")
      await expect(abortMove({ source: first, target: other })).rejects.toThrow("run `messaging move` again")
      await moveBehind(address, { source: first, target: other, targetUrl: pair.second.url })
      await expect(abortMove({ source: first, target: other })).rejects.toThrow("No transfer is in progress")
    },
    120_000,
  )
})
