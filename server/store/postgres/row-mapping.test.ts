import { expect, test } from "vitest"
import { bytea, instant, json, rowMapping } from "./row-mapping.ts"

interface Ticket {
  id: string
  seat: { row: number; label: string }
  madeAtMs: number
  usedAtMs: number | null
  hash: Uint8Array
  seal: Uint8Array | null
  tags: readonly { name: string }[]
}

interface TicketTable {
  id: string
  seat_row: number
  seat_label: string
  made_at: Date
  used_at: Date | null
  hash: Uint8Array
  seal: Uint8Array | null
  tags: readonly { name: string }[]
}

const tickets = rowMapping<Ticket, TicketTable>({
  id: "id",
  seat: { row: "seat_row", label: "seat_label" },
  madeAtMs: instant("made_at"),
  usedAtMs: instant("used_at"),
  hash: bytea("hash"),
  seal: bytea("seal"),
  tags: json("tags"),
})
const ticket: Ticket = {
  id: "t-1",
  seat: { row: 0, label: "" },
  madeAtMs: 0,
  usedAtMs: null,
  hash: Uint8Array.of(1, 2),
  seal: null,
  tags: [{ name: "a" }],
}
const row: TicketTable = {
  id: "t-1",
  seat_row: 0,
  seat_label: "",
  made_at: new Date(0),
  used_at: null,
  hash: Uint8Array.of(1, 2),
  seal: null,
  tags: [{ name: "a" }],
}

test("a record is written to the columns of its fields, in one order", () => {
  const written = { ...row, tags: '[{"name":"a"}]' }
  expect(tickets.toRow(ticket)).toStrictEqual(written)
  expect(tickets.columns).toEqual(Object.keys(row))
  expect(tickets.values(ticket)).toStrictEqual(Object.values(written))
})

test("a row is read into the fields of its columns, and no other column is", () => {
  expect(tickets.fromRow({ ...row, other: 1 } as TicketTable)).toStrictEqual(ticket)
  const used = { ...row, used_at: new Date(5), seal: Uint8Array.of(3) }
  expect(tickets.fromRow(used)).toStrictEqual({ ...ticket, usedAtMs: 5, seal: Uint8Array.of(3) })
})

test("bytes are copied from the driver's pool", () => {
  const pool = Buffer.from([9, 1, 2, 9])
  const { hash } = tickets.fromRow({ ...row, hash: pool.subarray(1, 3) })
  pool.fill(0)
  expect(hash).toStrictEqual(Uint8Array.of(1, 2))
})
