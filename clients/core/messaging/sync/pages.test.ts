import { expect, test } from "vitest"
import { allPages } from "./pages.ts"

test("all pages of a list are read", async () => {
  const list = allPages(async (token) => ({ items: [token], nextPageToken: token.length < 3 ? `${token}x` : "" }))
  expect(await list).toEqual(["", "x", "xx", "xxx"])
})

test("a page above the limit of a list is refused", async () => {
  const list = allPages(async () => ({ items: Array.from({ length: 200_000 }, () => 1), nextPageToken: "" }))
  await expect(list).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test("an endless list is refused", async () => {
  const list = allPages(async () => ({ items: [1], nextPageToken: "again" }))
  await expect(list).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})
