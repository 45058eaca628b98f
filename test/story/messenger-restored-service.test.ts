// The service's data is restored from a backup that lacks the last messages. The members have read them, and return them.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { effort, isLong, sample } from "../support/effort.ts"
import { type BackedUp, backedUp } from "../support/messaging/backed-up.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

/** The share of the hundred messages that the short form sends. */
const share = effort(10, 1, 1)

const utf8 = (text: string) => new TextEncoder().encode(text)

async function allTexts({ messenger }: OpenedMessenger, id: string): Promise<string[]> {
  const entries = await messenger.timeline(id, { limit: 1_000 })
  return entries.flatMap((entry) => (entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : []))
}

describe.each(sample(1, Object.entries(backedUp)))("a service with %s", (_, start) => {
  let service: BackedUp
  let messengers: Messengers
  beforeAll(async () => {
    service = await start()
    messengers = messengersOn(service.server, { keyPackages: 4 })
  })
  afterAll(async () => {
    await messengers?.close()
    await service?.close()
  })

  async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
    for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
  }
  const statusOf = async ({ messenger }: OpenedMessenger, id: string) => (await messenger.conversation(id))?.status

  test.runIf(isLong)(
    "gets 100 messages and 3 commits back from its members, and every conversation continues",
    async () => {
      const [ada, bob, cid] = await Promise.all(["ada", "bob", "cid"].map((name) => messengers.newcomer(name)))
      if (ada === undefined || bob === undefined || cid === undefined) return expect.fail("nobody")
      const { id: direct } = await ada.messenger.createDirectConversation(bob.person.userId)
      const { id: group } = await ada.messenger.createGroupConversation([bob.person.userId, cid.person.userId])
      await syncAll(bob, cid)
      await ada.messenger.send(group, utf8("before the backup"))
      await syncAll(ada, bob, cid)

      const dan = await messengers.newcomer("dan")
      await service.backUp()
      const sent: string[] = []
      const say = async ({ messenger }: OpenedMessenger, id: string, text: string) => {
        await messenger.send(id, utf8(text))
        if (id === group) sent.push(text)
      }
      for (let n = 0; n < 30 / share; n++) await say(ada, group, `ada ${n}`)
      await ada.messenger.addMembers(group, [dan.person.userId])
      await syncAll(dan, bob)
      for (let n = 0; n < 30 / share; n++) await say(bob, group, `bob ${n}`)
      await bob.messenger.refreshKeys(group)
      await syncAll(dan)
      for (let n = 0; n < 20 / share; n++) await say(dan, group, `dan ${n}`)
      await syncAll(ada)
      await ada.messenger.removeMembers(group, [cid.person.userId])
      for (let n = 0; n < 10 / share; n++) await say(ada, group, `ada again ${n}`)
      for (let n = 0; n < 10 / share; n++) await say(bob, direct, `direct ${n}`)
      await syncAll(ada)
      const read = await allTexts(ada, group)
      expect(read).toEqual(["before the backup", ...sent])
      await service.restore()

      // Bob and Dan have not read the last messages. Ada returns them, in both conversations.
      await syncAll(ada, bob, dan)
      expect(await allTexts(ada, group)).toEqual(read)
      expect(await allTexts(bob, group)).toEqual(read)
      expect((await allTexts(dan, group)).at(-1)).toBe(`ada again ${10 / share - 1}`)
      for (const one of [ada, bob, dan]) {
        expect(await statusOf(one, group)).toBe("active")
        await say(one, group, "after the restore")
      }
      for (const one of [bob, ada]) await one.messenger.send(direct, utf8("after the restore"))
      await syncAll(ada, bob, dan, cid)
      for (const one of [ada, bob, dan]) {
        const texts = await allTexts(one, group)
        expect(texts.slice(-3)).toEqual(Array(3).fill("after the restore"))
        const kinds = (await one.messenger.timeline(group, { limit: 1_000 })).map(({ is }) => is)
        expect(kinds).not.toContain("unreadable")
        expect(kinds).not.toContain("missing")
      }
      expect((await allTexts(ada, direct)).slice(-3)).toEqual([
        `direct ${10 / share - 1}`,
        ...Array(2).fill("after the restore"),
      ])
      expect(await statusOf(cid, group)).toBe("removed")
      expect(await cid.store.list(group, "tail")).toEqual([])
    },
  )

  test.runIf(isLong)("continues with what a device has written that had read less than the others", async () => {
    const [eve, fay] = await Promise.all(["eve", "fay"].map((name) => messengers.newcomer(name)))
    if (eve === undefined || fay === undefined) return expect.fail("nobody")
    const { id } = await eve.messenger.createGroupConversation([fay.person.userId])
    await syncAll(fay)
    await service.backUp()
    await eve.messenger.refreshKeys(id)
    await service.restore()

    // The commit's number is used again, so Eve's epoch cannot return: Fay removes her and adds her again.
    await fay.messenger.send(id, utf8("in the earlier epoch"))
    await syncAll(eve, fay, eve)
    expect(await statusOf(eve, id)).toBe("active")
    await eve.messenger.send(id, utf8("in the next epoch"))
    await syncAll(fay)
    expect(await allTexts(fay, id)).toEqual(["in the earlier epoch", "in the next epoch"])
  })

  test.runIf(isLong)("delivers messages again whose numbers were used, and shows none twice", async () => {
    const [kim, lea, max] = await Promise.all(["kim", "lea", "max"].map((name) => messengers.newcomer(name)))
    if (kim === undefined || lea === undefined || max === undefined) return expect.fail("nobody")
    const { id } = await kim.messenger.createGroupConversation([lea.person.userId, max.person.userId])
    await syncAll(lea, max)
    await kim.messenger.send(id, utf8("before"))
    await syncAll(lea, max)
    await service.backUp()
    const sent = ["one", "two", "three"]
    for (const text of sent) await kim.messenger.send(id, utf8(text))
    await syncAll(lea)
    await service.restore()

    // Max uses a number of Kim's messages, which therefore cannot return to theirs.
    await max.messenger.send(id, utf8("meanwhile"))
    for (let round = 0; round < 3; round++) await syncAll(kim, lea, max)
    for (const one of [kim, lea, max]) {
      expect(await statusOf(one, id)).toBe("active")
      const texts = await allTexts(one, id)
      expect(texts.filter((text) => sent.includes(text))).toEqual(sent)
      expect(await one.messenger.outbox(id)).toEqual([])
    }
    const again = (await max.messenger.timeline(id, { limit: 1_000 })).filter((entry) => "isLate" in entry)
    expect(again.map((entry) => (entry.is === "message" ? entry.from.userId : ""))).toEqual(
      sent.map(() => kim.person.userId),
    )
  })

  test.runIf(isLong)("continues beyond all lost numbers, and shows a member whose removal was lost", async () => {
    const [hal, ida, jim] = await Promise.all(["hal", "ida", "jim"].map((name) => messengers.newcomer(name)))
    if (hal === undefined || ida === undefined || jim === undefined) return expect.fail("nobody")
    const { id } = await hal.messenger.createGroupConversation([ida.person.userId, jim.person.userId])
    await syncAll(ida, jim)
    await service.backUp()
    await hal.messenger.send(id, utf8("lost"))
    await hal.messenger.removeMembers(id, [jim.person.userId])
    for (const text of ["lost, too", "and this"]) await hal.messenger.send(id, utf8(text))
    const before = await hal.messenger.conversation(id)
    await service.restore()

    // Jim uses two of the four numbers again, so neither his removal nor what follows it can return.
    for (const text of ["here", "still"]) await jim.messenger.send(id, utf8(text))
    for (let round = 0; round < 2; round++) await syncAll(hal, ida, jim)
    for (const one of [hal, ida, jim]) {
      expect(await statusOf(one, id)).toBe("active")
      await one.messenger.send(id, utf8("after"))
    }
    await syncAll(hal, ida, jim)
    const own = ["lost", "lost, too", "and this"]
    expect((await allTexts(hal, id)).filter((text) => own.includes(text))).toEqual(own)
    for (const one of [hal, ida, jim]) expect((await allTexts(one, id)).slice(-3)).toEqual(Array(3).fill("after"))
    const entries = await hal.messenger.timeline(id, { limit: 1_000 })
    const seqs = entries.map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.toSorted((a, b) => Number(a - b)))
    const returned = entries.filter((entry) => entry.is === "membership" && entry.seq > (before?.processedSeq ?? 0n))
    expect(returned).toMatchObject([{ added: [{ userId: jim.person.userId }], removed: [] }])
    for (const one of [ida, jim]) {
      const kinds = (await one.messenger.timeline(id, { limit: 1_000 })).map(({ is }) => is)
      expect(kinds.filter((is) => is === "gap")).toHaveLength(1)
    }
    await hal.messenger.removeMembers(id, [jim.person.userId])
    await syncAll(ida, jim)
    expect(await statusOf(jim, id)).toBe("removed")
  })
})
