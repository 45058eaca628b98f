// The most that our server sends in trailers: details of 48 KiB, which are 64 KiB of base64.
import { once } from "node:events"
import { createServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { Code, ConnectError } from "@connectrpc/connect"
import { connectNodeAdapter } from "@connectrpc/connect-node"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { CommitConflictSchema } from "@signet/proto/messaging/v1/conflict"

/** A server over HTTP/2 without TLS whose every AuthService.Me loses against a commit. */
export async function serveLargeDetails() {
  const receipt = crypto.getRandomValues(new Uint8Array(48_000))
  function me(): never {
    throw new ConnectError("lost", Code.Aborted, undefined, [
      { desc: ErrorInfoSchema, value: { domain: "signet", reason: "COMMIT_CONFLICT" } },
      { desc: CommitConflictSchema, value: { receipt } },
    ])
  }
  const server = createServer(connectNodeAdapter({ routes: (router) => router.service(AuthService, { me }) }))
  await once(server.listen(0, "127.0.0.1"), "listening")
  return {
    target: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  }
}
