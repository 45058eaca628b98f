import { describe, expect, test } from "vitest"
import {
  accountMoves,
  clientMoves,
  invitationMoves,
  isLiveMembership,
  type Move,
  membershipMoves,
  placeMoves,
  principalMoves,
  roleMoves,
  type Step,
  step,
} from "./moves.ts"

/** Every state, and the result of each move from it: g(o), s(tay) or -. */
type Table = readonly [name: string, states: string, moves: Record<string, Move<string>>, rows: Record<string, string>]

const tables: readonly Table[] = [
  [
    "an app, tenant or context",
    "ACTIVE SUSPENDED ARCHIVED",
    placeMoves,
    { suspend: "g s -", resume: "s g -", archive: "g g s" },
  ],
  ["a provider client", "ACTIVE DISABLED", clientMoves, { disable: "g s", enable: "s g" }],
  [
    "a membership",
    "INVITED REQUESTED ACTIVE SUSPENDED REMOVED DECLINED REJECTED EXPIRED",
    membershipMoves,
    {
      suspend: "- - g s - - - -",
      resume: "- - s g - - - -",
      approve: "- g s - - - - -",
      reject: "- g - - - - s -",
      remove: "g - g g s - - -",
    },
  ],
  ["an invitation", "PENDING ACCEPTED DECLINED REVOKED", invitationMoves, { revoke: "g - - s" }],
  ["a role", "ACTIVE ARCHIVED", roleMoves, { archive: "g s" }],
  [
    "a principal",
    "ACTIVE SUSPENDED LOCKED DEACTIVATED DELETED",
    principalMoves,
    {
      lock: "g - s - -",
      unlock: "s - g - -",
      suspend: "g s g - -",
      resume: "s g - - -",
      deactivate: "g g g s -",
      reactivate: "s - - g -",
    },
  ],
  ["a provider account", "LINKED REVOKED BLOCKED UNLINKED", accountMoves, { block: "g - s -", unblock: "s - g -" }],
]
const steps: Record<string, Step> = { g: "go", s: "stay", "-": "refuse" }

describe.each(tables)("%s", (_, states, moves, rows) => {
  test("has the moves of the table", () => {
    expect(Object.keys(moves).toSorted()).toEqual(Object.keys(rows).toSorted())
  })

  test.each(Object.entries(rows))("%s: %s", (name, row) => {
    const move = moves[name]
    if (move === undefined) throw new Error(name)
    const expected = row.split(" ").map((letter) => steps[letter])
    expect(states.split(" ").map((state) => step(state, move))).toEqual(expected)
  })
})

test("an ended membership is not live", () => {
  const states = ["INVITED", "REQUESTED", "ACTIVE", "SUSPENDED", "REMOVED", "DECLINED", "REJECTED", "EXPIRED"] as const
  const live = states.filter((status) => isLiveMembership({ status }))
  expect(live).toEqual(["INVITED", "REQUESTED", "ACTIVE", "SUSPENDED"])
})
