import { expect, test, vi } from "vitest"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { effort, isLong } from "../support/effort.ts"
import { type Feature, features, parseFeatures } from "./features.ts"
import { simulate } from "./simulate.ts"
import { expectSound, first } from "./sound.ts"

vi.setConfig({ testTimeout: effort(180_000, 600_000, 600_000) })

// The features when a seed found something: it finds it again with the fault put back.
const former: readonly Feature[] = features.filter((one) => one !== "restored devices")
const earlier: readonly Feature[] = ["hints", "tabs", "renewal", "attachments"]

test.runIf(isLong)("a listener reads in time although hints are late or lost, and streams end or fall silent", () =>
  expectSound(5, { features: ["hints"] }),
)

test.runIf(isLong)("two tabs of one store act as one device, whichever tab freezes or ends", () =>
  expectSound(7, { features: ["tabs"] }),
)

test.runIf(isLong)("a message whose answer was lost before a rejoin is in the log once", () =>
  expectSound(24, { features: ["rejoins"] }),
)

test.runIf(isLong)("a device whose app has used a conversation's id before its welcome expired is added again", () =>
  expectSound(20008, { features: ["hints", "renewal", "rejoins"] }),
)

test.runIf(isLong)(
  "a device whose credential expired while it was away renews its leaf before it commits a removal",
  () => expectSound(30119, { features: ["hints", "tabs", "renewal", "attachments"] }),
)

test.runIf(isLong)("a read that another tab overtakes in a process that ends is no tampering", () =>
  expectSound(30126, { features: former }),
)

test.runIf(isLong)("a hint that a later one has overtaken does not replace it", () =>
  expectSound(30029, { features: former }),
)

test.runIf(isLong)("a message of a user who has left does not wait, although no member can remove the user", () =>
  expectSound(51715861, { features: former }),
)

test.runIf(isLong)(
  "devices that wait with an intact group add each other while the other members stay offline",
  async () => {
    await expectSound(900165, { features: former })
    await expectSound(900066, { features: former })
  },
)

test.runIf(isLong)("devices of a group that nobody can continue report it once the lost devices are revoked", () =>
  expectSound(900033, { features: former }),
)
test.runIf(isLong)("a leave ends once the users that stay have revoked the devices that they lost", async () => {
  for (const seed of [900065, 900098]) await expectSound(seed, { features: former })
})
test.runIf(isLong)("a leave drops the staged commit of a change that it reports", () =>
  expectSound(941848, { features: former }),
)

test.runIf(isLong)("a copy of a store may lack a message that was being written", () =>
  expectSound(991933365, { features }),
)

test.runIf(isLong)("a copy of a store from before a renewal lacks the device's key", () =>
  expectSound(991933406, { features }),
)
test.runIf(isLong)("a copy of a store may lack a transfer that is being requested or granted", async () => {
  // The old device granted the transfer after the copy in the first one, the new one requested it in the second one.
  for (const seed of [241592470, 422983180]) await expectSound(seed, { features })
})
test.runIf(isLong)("a device whose last resort was never uploaded uploads its next key packages", () =>
  expectSound(423433281, { features }),
)
test.runIf(isLong)("a direct conversation continues only once the other user has a device that can be added", () =>
  expectSound(241592675, { features }),
)
test.runIf(isLong)("a listener whose issuer keys expired in its sleep fetches new ones before its stream ends", () =>
  expectSound(241592640, { features }),
)
test.runIf(isLong)("a device that was added by a key package that its restored store lacks is soon added again", () =>
  expectSound(422983400, { features }),
)

test.runIf(isLong)("a restored device does not send again what it has encrypted with used keys", () =>
  expectSound(714507352, { features }),
)

test.runIf(isLong)("a reset that is staged again before its commit is no second state of an epoch", () =>
  expectSound(243199601, { features }),
)

test.runIf(isLong)("a device that registers before it has key packages is soon added by the user's other device", () =>
  expectSound(42, { features: ["hints", "tabs", "renewal"] }),
)
test.skipIf(effort(true, false, false))("messages of a user who has left with another device are unsent", () =>
  expectSound(7081, { features: earlier }),
)
test.skipIf(effort(true, false, false))(
  "a message that another tab has sent meanwhile is not refused in this tab",
  () => expectSound(6036, { features: earlier }),
)
test.skipIf(effort(true, false, false))(
  "a device that created a conversation concurrently and missed its welcome is added",
  () => expectSound(7153, { features: earlier }),
)
test.skipIf(effort(true, false, false))(
  "a listener reads each message in time, in whatever order its hints arrive",
  () => expectSound(7123, { features: earlier }),
)
const seedsFrom = (start: number, count: number) => Array.from({ length: count }, (_, i) => start + i)

test.runIf(isLong)(
  "a new device has the history of the old one, wherever both stop and whatever the service does to chunks",
  async () => {
    // In the first ones both sides are interrupted, and the service lies often.
    for (const seed of [5, 13, ...effort([], seedsFrom(first, 4), seedsFrom(first, 500))]) {
      await expectSound(seed, { features: ["pairing"] })
      await expectSound(seed, { features: ["pairing"], hostility: "bent history" })
    }
  },
)

test.runIf(isLong)(
  "a user who loses all devices restores the newest complete backup, wherever a backup stops",
  async () => {
    // A backup is interrupted before the loss in the first ones.
    for (const seed of [1, 6, ...effort([], seedsFrom(first, 4), seedsFrom(first, 500))]) {
      await expectSound(seed, { features: seed % 2 === 0 ? ["backup"] : ["backup", "hints"] })
    }
  },
)

test.runIf(isLong)(
  "a service that returns to an earlier state gets the end of its log from devices, and all members read each other",
  async () => {
    // Members have read what the service loses in the first one.
    for (const seed of [8, ...effort([], seedsFrom(first, 4), seedsFrom(first, 500))]) {
      await expectSound(seed, { features: ["restored service"] })
    }
  },
)

test.runIf(isLong)(
  "a device whose store returns to an earlier copy rejoins, and no other device loses a message or reads one twice",
  async () => {
    // The copy encrypts before it has read the log in the first one. In the second one it is the only one that could commit.
    for (const seed of [2, 8, ...effort([], seedsFrom(first, 3), seedsFrom(first, 500))]) {
      await expectSound(seed, { features: ["restored devices"] })
    }
  },
)

test.runIf(isLong)("a store that accepts a write on an old generation is detected", async () => {
  const run = simulate({ seed: 3, steps: 30, features: ["tabs"], disk: takingAll })
  const noticed = await run.then(({ violations }) => violations.join(), String)
  expect(noticed).toMatch(/STATE_TAMPERED|of another generation than its store/)
})

test.runIf(isLong)("with all features the same seed gives the same run", async () => {
  const play = { seed: 7, steps: 10, features: effort<readonly Feature[]>(["tabs"], features, features) }
  expect(await simulate(play)).toEqual(await simulate(play))
})

test("features are selected by name, or all at once", () => {
  expect(parseFeatures("tabs,hints")).toEqual(["tabs", "hints"])
  expect(parseFeatures("all")).toEqual(features)
  expect(parseFeatures("restored service,restored devices")).toEqual(["restored service", "restored devices"])
  expect(() => parseFeatures("tabs,tab")).toThrow("no such feature: tab")
})

/** Whatever it was made of. */
function takingAll(store: MessagingStore): MessagingStore {
  return {
    ...store,
    transact: async (space, _, ops) => store.transact(space, (await store.read(space, [])).generation, ops),
  }
}
