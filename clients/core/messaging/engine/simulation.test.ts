import * as fc from "fast-check"
import { test } from "vitest"
import { effort } from "../../../../test/support/effort.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { histories, play } from "../testing/history.ts"
import { ourSeat } from "../testing/our-seat.ts"
import { openRoom } from "../testing/seat.ts"

const suite = makeNodeSuite()
const size = effort(
  { runs: 1, steps: 60, members: 14 },
  { runs: 16, steps: 80, members: 16 },
  { runs: 4, steps: 1500, members: 100 },
)

// After every step, the room checks that all members have one epoch authenticator and one roster, that they decrypt
// every message with its sender, and that removed members decrypt none. A failure prints its seed and the shortest
// history.
test(
  "in any history, all members agree on every epoch, and removed members decrypt nothing later",
  async () => {
    await fc.assert(
      fc.asyncProperty(histories({ min: size.steps / 2, max: size.steps }), async (steps) => {
        const room = await openRoom(await ourSeat(suite, "member-0"), utf8("simulation"))
        await play(room, steps, (n) => ourSeat(suite, `member-${n}`, { forgetful: n % 3 === 0 }), size.members)
        for (const by of room.seats.keys()) await room.say(by, "the end")
      }),
      { numRuns: size.runs },
    )
  },
  effort(60_000, 600_000, 8 * 3600_000),
)
