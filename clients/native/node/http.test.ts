import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { create } from "@bufbuild/protobuf"
import { HttpRequestSchema } from "@signet/proto/host/v1/host"
import { expect, onTestFinished, test } from "vitest"
import { performHttp } from "./http.ts"

test("a redirect is an answer, and is not followed", async () => {
  const paths: string[] = []
  const server = createServer(({ url = "" }, response) => {
    paths.push(url)
    response.writeHead(302, { location: "/elsewhere" }).end()
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/first`
  const performing = { signal: new AbortController().signal, push: () => undefined, pushChange: () => undefined }
  const answer = await performHttp(create(HttpRequestSchema, { method: "GET", url }), performing)
  expect(answer).toMatchObject({ case: "http", value: { status: 302 } })
  expect(paths).toEqual(["/first"])
})
