// When the feed requests the log, shares a request, and stops.
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest"
import { followedIssuer, stopFollowing } from "../testing/followed-issuer.ts"

afterEach(stopFollowing)

/** A followed issuer whose answers wait until the test gives them. */
function waitingIssuer(options: Parameters<typeof followedIssuer>[0] = {}) {
  const answers: ((response?: Response) => void)[] = []
  const paths: string[] = []
  const all = followedIssuer({
    ...options,
    fetch: (input, init) =>
      new Promise((resolve, reject) => {
        paths.push(String(input))
        const abort = () => reject(init?.signal?.reason)
        if (init?.signal?.aborted) return abort()
        init?.signal?.addEventListener("abort", abort)
        answers.push((response) =>
          resolve(response ?? Response.json({ statement: all.sign(all.statement(all.feed.seq)) })),
        )
      }),
  })
  /** Answers the request with this number, from 0. */
  async function answer(index: number, response?: Response): Promise<void> {
    await expect.poll(() => answers.length).toBeGreaterThan(index)
    answers[index]?.(response)
  }
  return { ...all, answer, paths }
}

describe("callers of a feed", () => {
  test("share one request until it counts as abandoned, whose late answer does not end the newer one", async () => {
    const { feed, answer, paths, pass } = waitingIssuer()
    const first = [feed.refresh(), feed.refresh()]
    pass(14_999)
    first.push(feed.refresh())
    pass(1)
    const second = [feed.refresh()]
    await expect.poll(() => paths.length).toBe(2)
    await answer(0)
    await Promise.all(first)
    second.push(feed.refresh())
    await answer(1)
    await Promise.all(second)
    expect(paths).toHaveLength(2)
  })

  test("wait for the answer in progress only before the first answer, or while it is recent", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] })
    onTestFinished(() => void vi.useRealTimers())
    const followed = waitingIssuer()
    const first = followed.feed.refresh()
    await followed.answer(0)
    await first
    const second = followed.feed.refresh()
    expect(await followed.decide(followed.token())).toBe("allow")
    await followed.answer(1)
    await second

    const isolate = waitingIssuer({ askEveryMs: 10_000 })
    const held = isolate.token()
    const beginning = isolate.decide(held)
    await isolate.answer(0)
    expect(await beginning).toBe("allow")
    isolate.pass(10_000)
    const asking = isolate.decide(held)
    await expect.poll(() => isolate.paths.length).toBe(2)
    isolate.pass(2_000)
    expect(await isolate.decide(held)).toBe("allow")
    await isolate.answer(1)
    expect(await asking).toBe("allow")
  })
})

describe("a feed that is stopped", () => {
  test("during a request reports no problem", async () => {
    const { feed, paths, problems } = waitingIssuer()
    feed.start()
    await expect.poll(() => paths.length).toBe(1)
    await feed.stop()
    expect(problems).toEqual([])
  })

  test("while it waits for its own token does not wait for the answer of the issuer", async () => {
    const own = Promise.withResolvers<string>()
    const { feed } = waitingIssuer({ token: () => own.promise })
    feed.start()
    const stopped = feed.stop()
    own.resolve("own")
    await stopped
  })
})

test("a fault of the issuer does not end long polling", async () => {
  const { feed, answer, paths } = waitingIssuer({ random: () => 0 })
  feed.start()
  await answer(0)
  await answer(1, new Response("", { status: 500 }))
  await expect.poll(() => paths.length).toBe(3)
  expect(paths.slice(1).map((path) => new URL(path).searchParams.get("wait"))).toEqual(["3", "3"])
})

test("if too many readers wait, the feed is read without long polling", async () => {
  const told = Promise.withResolvers<void>()
  const { feed, token, decide, revoke, crowd, asked } = followedIssuer({
    random: () => 0,
    onProblem: () => told.resolve(),
  })
  const held = token()
  crowd()
  feed.start()
  await told.promise
  revoke({})
  while ((await decide(held)) === "allow") await new Promise((resolve) => setTimeout(resolve, 5))
  expect(asked.at(-1)).toMatch("wait=0")
})

test("an empty log is long-polled, not requested repeatedly", async () => {
  const { feed, asked } = followedIssuer()
  await feed.refresh()
  await feed.refresh()
  expect(asked).toEqual(["/auth/revocations/snapshot?after=0", "/auth/revocations?after=0&wait=0"])
})

test("an exception of the key set is reported, and the feed retries", async () => {
  const heard = Promise.withResolvers<unknown>()
  const { feed } = followedIssuer({
    statementKeys: { find: () => Promise.reject(new Error("no keys")) },
    onProblem: (problem, cause) => heard.resolve([problem, cause]),
  })
  feed.start()
  expect(await heard.promise).toEqual(["UNREACHABLE", new Error("no keys")])
})
