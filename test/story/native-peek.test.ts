// A push extension on the native core shows messages of a closed or a running app, and changes nothing that the app reads.
import { PeekOutcome, type PeekResponse } from "@signet/proto/client/v1/peek_service"
import type { EffectResult } from "@signet/proto/host/v1/host"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Performing, Platform } from "../../clients/native/wasm/platform.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { type CoreMember, coreTexts, type NativeCores, nativeCoresOn } from "../support/messaging/native-cores.ts"
import { storyStore } from "../support/postgres.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

/** The texts of the previews; undefined for "new messages". */
const shownIn = ({ outcome, previews }: PeekResponse): string[] | undefined =>
  outcome === PeekOutcome.PREVIEWS
    ? previews.flatMap(({ entry }) =>
        entry?.entry.case === "message" ? [new TextDecoder().decode(entry.entry.value.plaintext)] : [],
      )
    : undefined

describe.runIf(isLong)("a push extension on the native core", () => {
  let server: Deployment
  let messengers: Messengers
  let cores: NativeCores
  beforeAll(async () => {
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server, { keyPackages: 5 })
    cores = await nativeCoresOn(server)
  })
  afterAll(async () => {
    await cores?.close()
    await messengers?.close()
    await server?.close()
  })

  const request = () => ({
    ...{ baseUrl: server.messagingUrl, audience: server.audience },
    issuerRootKeys: [new Uint8Array(server.issuerRootKey)],
  })
  const peek = (member: CoreMember): Promise<PeekResponse> => member.peek.peek(request())

  /** A user of plain Node in a conversation with a user of a core. */
  async function pair(name: string) {
    const ann = await messengers.newcomer(`ann ${name}`)
    const ben = await cores.newcomer(`ben ${name}`)
    const { id } = await ann.messenger.createDirectConversation(ben.userId)
    await ben.messenger.sync()
    return { ann, ben, id }
  }

  test("shows the messages of a closed app and of a running one, and the app then receives each once", async () => {
    const { ann, ben, id } = await pair("first")
    await ben.messenger.close()
    await ben.core.close()
    await ann.messenger.send(id, utf8("to the closed app"))

    const extension = await cores.start(ben.kept)
    const { generation } = await ben.kept.store.read(id, [])
    for (let round = 0; round < 2; round++) expect(shownIn(await peek(extension))).toEqual(["to the closed app"])
    expect((await ben.kept.store.read(id, [])).generation).toBe(generation)

    const app = await cores.start(ben.kept)
    const device = await app.open()
    await app.messenger.sync()
    await ann.messenger.send(id, utf8("to the running app"))
    expect(shownIn(await peek(extension))).toEqual(["to the running app"])
    const expected = ["to the closed app", "to the running app"]
    for (let round = 0; round < 5; round++) {
      await ann.messenger.send(id, utf8(`message ${round}`))
      const own = { conversationId: id, plaintext: utf8(`own ${round}`) }
      const [shown] = await Promise.all([peek(extension), app.messenger.send(own), app.messenger.sync()])
      // The app may have read it meanwhile.
      expect([[], [`message ${round}`]]).toContainEqual(shownIn(shown)?.filter((text) => text !== "to the running app"))
      expected.push(`message ${round}`, `own ${round}`)
    }
    await app.messenger.sync()
    expect((await coreTexts(app, id)).sort()).toEqual(expected.sort())
    expect(shownIn(await peek(extension))).toEqual([])
    await ann.messenger.sync()
    expect((await textsIn(ann, id)).sort()).toEqual(expected)

    // In the app's own core, too: its messenger keeps its keys.
    await ann.messenger.send(id, utf8("in one core"))
    expect(shownIn(await peek(app))).toEqual(["in one core"])
    await app.messenger.send({ conversationId: id, plaintext: utf8("after it") })
    await app.messenger.close()
    expect(await app.open()).toBe(device)
  })

  test("shows no preview after a sign-out, without the keys, and of a folder without a messenger", async () => {
    const { ann, ben, id } = await pair("without")
    await ann.messenger.send(id, utf8("unread"))
    const newMessages = { outcome: PeekOutcome.NEW_MESSAGES, previews: [], hasMore: false }
    const empty = await cores.start()
    expect(await peek(empty)).toMatchObject(newMessages)
    const keyless = await cores.start({ ...ben.kept, box: cores.keep().box })
    expect(await peek(keyless)).toMatchObject(newMessages)
    expect(shownIn(await peek(ben))).toEqual(["unread"])
    await ben.identity.logout()
    const out = await cores.start(ben.kept)
    expect(await peek(out)).toMatchObject(newMessages)
  })

  test("ends with an endless answer, with a silent service, and refuses a second peek beside it", async () => {
    const { ann, ben, id } = await pair("hostile")
    await ann.messenger.send(id, utf8("unread"))
    const around =
      (hostile: (performing: Performing) => Promise<EffectResult["result"]>) =>
      (platform: Platform): Platform => ({
        ...platform,
        perform: (effect, performing) =>
          effect.case === "http" && effect.value.url.endsWith("/ListMessages")
            ? hostile(performing)
            : platform.perform(effect, performing),
      })
    let pieces = 0
    const endless = await cores.start(ben.kept, {
      around: around(async ({ signal, push }) => {
        push({ status: 200, headers: [], body: new Uint8Array() })
        for (; !signal.aborted && pieces < 1_000; pieces++) {
          push({ status: 0, headers: [], body: new Uint8Array(100_000) })
          await new Promise((done) => setTimeout(done, 0))
        }
        return { case: undefined }
      }),
    })
    expect((await peek(endless)).outcome).toBe(PeekOutcome.NEW_MESSAGES)
    // 4.26 MB, and what arrives while the core ends the request.
    expect(pieces).toBeLessThan(60)

    let isEnded = false
    const silent = await cores.start(ben.kept, {
      around: around(
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => {
              isEnded = true
              reject(signal.reason)
            })
          }),
      ),
    })
    const startedMs = performance.now()
    const waiting = peek(silent)
    await expect(peek(silent)).rejects.toMatchObject({ reason: "INVALID_ARGUMENT" })
    expect((await waiting).outcome).toBe(PeekOutcome.NEW_MESSAGES)
    expect(performance.now() - startedMs).toBeGreaterThan(9_000)
    expect(performance.now() - startedMs).toBeLessThan(30_000)
    expect(isEnded).toBe(true)
    expect(shownIn(await peek(ben))).toEqual(["unread"])
    await expect(ben.peek.peek({ ...request(), issuerRootKeys: [] })).rejects.toMatchObject({
      reason: "INVALID_ARGUMENT",
    })
  })
})
