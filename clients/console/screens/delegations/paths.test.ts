import { expect, test } from "vitest"
import { audienceKey, chosenIn, drawPaths, type Path } from "./paths.ts"

const node = (key: string) => ({ key, name: key })
const pathOf = (change: Partial<Path>): Path => ({
  ...{ id: "dpo_1", subject: node("everyone"), actor: node("mail"), audiences: ["svc-a"], scopes: [] },
  ...{ isStanding: false, until: "", isStopped: false },
  ...change,
})
const ann = pathOf({ subject: node("ann"), isStanding: true, endsAtMs: 2_000 })

test("a picture has each subject, actor and audience once, and an edge for each pair on a path", () => {
  const paths = [pathOf({}), ann, { ...ann, actor: node("jobs"), audiences: ["svc-a", "svc-b"], endsAtMs: 1_000 }]
  const { columns, edges, rows } = drawPaths(paths)
  expect(columns.map((column) => column.map(({ key }) => key))).toEqual([
    ["everyone", "ann"],
    ["mail", "jobs"],
    [audienceKey("svc-a"), audienceKey("svc-b")],
  ])
  expect(columns[0].map(({ endsAtMs }) => endsAtMs)).toEqual([undefined, 1_000])
  expect(rows).toBe(2)
  expect(edges.map(({ column, from, to, isStanding }) => [column, from, to, isStanding])).toEqual([
    [0, 0.25, 0.25, false],
    // A policy and a standing delegation share the edge to the audience.
    [1, 0.25, 0.25, false],
    [0, 0.75, 0.25, true],
    [0, 0.75, 0.75, true],
    [1, 0.75, 0.25, true],
    [1, 0.75, 0.75, true],
  ])
  const ofJobs = edges.filter(({ nodes }) => nodes.has("jobs"))
  expect(ofJobs.every(({ nodes }) => nodes.has("ann") && !nodes.has("everyone"))).toBe(true)
})

test("a picture has no stopped path, and only the first subjects of many", () => {
  expect(drawPaths([pathOf({ isStopped: true })])).toMatchObject({ edges: [], rows: 0, subjectCount: 0 })
  const many = Array.from({ length: 30 }, (_, i) => ({ ...ann, subject: node(`person ${i}`) }))
  const { columns, edges, subjectCount } = drawPaths(many)
  expect([columns[0].length, edges.length, subjectCount]).toEqual([24, 25, 30])
})

test("a name whose last path is gone is not chosen any more", () => {
  expect(chosenIn([ann], "ann")).toBe("ann")
  expect(chosenIn([pathOf({})], "ann")).toBeUndefined()
})
