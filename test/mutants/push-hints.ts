import type { Mutant } from "./mutant.ts"

const sending = { test: "server/pushes/pinned-send.test.ts", file: "server/pushes/pinned-send.ts" }
const rules = { test: "server/kernel/messaging/push.test.ts", file: "server/kernel/messaging/push.ts" }
const peeking = { test: "test/story/messenger-peek.test.ts" }
const edge = { test: "server/edge/worker/pushes.test.ts", file: "server/edge/worker/pushes.ts" }
const story = { test: "test/story/push-hints.test.ts" }

/** Hand-written mutants of the guards of push endpoints. */
export const pushMutants: readonly Mutant[] = [
  {
    ...sending,
    fault: "a push connects to a name, which the system resolves again",
    from: "...(pinned === undefined ? {} : { lookup: to(pinned) }),",
    to: "...(pinned === undefined ? {} : { lookup: undefined as never }),",
    name: "a push connects to the address that was checked",
  },
  {
    ...sending,
    fault: "only the first address of a name is checked",
    from: "!found.every(({ address }) => isPublicIp(address))",
    to: "!isPublicIp(pinned.address)",
    name: "a name with one private address gets no connection, whatever the order",
  },
  {
    ...sending,
    fault: "loopback is reached in production",
    from: "const isLocal = isLoopbackAllowed && isLoopback(url.hostname)",
    to: "const isLocal = isLoopback(url.hostname)",
    name: "loopback gets no connection outside development",
  },
  {
    ...sending,
    fault: "a redirect is followed",
    from: '    call.once("response", resolve)',
    to: '    call.once("response", (first) => { const to = first.headers.location; if (to === undefined) resolve(first); else http.get(to, resolve) })',
    name: "a redirect is returned and not followed",
  },
  {
    ...rules,
    fault: "an endpoint may have a host that the operator does not list",
    from: "  return hosts.some((listed)",
    to: '  return host !== "" || hosts.some((listed)',
    name: "an endpoint of a host that is not listed is refused",
    table: "server/kernel/messaging/push.test.ts",
    row: "of a host that is not listed",
  },
  {
    ...rules,
    fault: "a wildcard allows names that only end like a listed one",
    from: "host.endsWith(listed.slice(1))",
    to: "host.endsWith(listed.slice(2))",
    name: "an endpoint of a name that ends like a listed one is refused",
    table: "server/kernel/messaging/push.test.ts",
    row: "of a name that ends like a listed one",
  },
  {
    test: "server/kernel/messaging/push.test.ts",
    file: "server/kernel/administration/address.ts",
    fault: "an endpoint may have another port",
    from: '|| ["", "443"].includes(address.port)',
    to: '|| address.port !== "0"',
    name: "an endpoint on another port is refused",
    table: "server/kernel/messaging/push.test.ts",
    row: "on another port",
  },
  {
    test: "server/kernel/administration/ip-address.test.ts",
    file: "server/kernel/administration/ip-address.ts",
    fault: "IPv6 outside global unicast counts as public",
    from: "  return isIn(v6, ipv6Of(global), length) && ",
    to: '  return length > 0 && global !== "" && ',
    name: "IPv6 loopback is not public",
    table: "server/kernel/administration/ip-address.test.ts",
    row: "IPv6 loopback",
  },
  {
    ...story,
    file: "server/rpc/messaging/push/send-pushes.ts",
    fault: "an endpoint is pushed after its session has ended",
    from: 'if (session?.state !== "ACTIVE" || session.boundDeviceId !== deviceId) {',
    to: "if (session === undefined) {",
    name: "the endpoint ends with the device, with the session, and by a call",
  },
  {
    ...story,
    file: "server/rpc/messaging/device/revocation-effects.ts",
    fault: "the endpoint of a revoked device is kept",
    from: "  await deps.pushes?.endpoints.delete(deviceId)\n",
    to: "",
    name: "the endpoint ends with the device, with the session, and by a call",
  },
  {
    ...story,
    file: "server/store/postgres/messaging/pushes.ts",
    fault: "a device gets several pushes in five seconds",
    from: "set due_at = null, not_before = $2 where",
    to: "set due_at = null, not_before = least($2, now()) where",
    name: "messages within 5 seconds send one push, and then one more",
  },
  {
    ...story,
    file: "server/store/postgres/messaging/pushes.ts",
    fault: "the devices of the sender's user are pushed",
    from: " and to_seq is null and user_id <> $2)",
    to: " and to_seq is null and $2::text is not null)",
    name: "the sender's user gets no push, and a new member does",
  },
  {
    ...peeking,
    file: "clients/core/messaging/peek/read-only.ts",
    fault: "a peek writes",
    from: '  transact: () => Promise.reject(refused("write")),',
    to: "  transact: (space, generation, ops) => store.transact(space, generation, ops),",
    name: "the ports of a peek refuse writes, other calls and new seals",
  },
  {
    ...peeking,
    file: "clients/core/messaging/peek/read-only.ts",
    fault: "a peek may acknowledge",
    from: "const reads: readonly unknown[] = [listConversations, listMessages]",
    to: "const reads: readonly unknown[] = [listConversations, listMessages, ConversationService.method.ackMessages]",
    name: "the ports of a peek refuse writes, other calls and new seals",
  },
  {
    ...peeking,
    file: "clients/core/messaging/peek/peek.ts",
    fault: "a peek stores a new generation",
    from: "    store: readOnlyStore(options.store),",
    to: `    store: {
      ...options.store,
      async read(space, wanted) {
        const now = await options.store.read(space, wanted)
        await options.store.transact(space, now.generation, [])
        return now
      },
    },`,
    name: "a peek shows what waits, and the app then receives it once",
  },
  {
    ...peeking,
    file: "clients/core/messaging/peek/peek.ts",
    fault: "a peek shows the other messages beside one that fails its checks",
    from: 'if (entry.is === "unreadable" || entry.is === "newKeys") throw new Unusual()',
    to: 'if (entry.is === "newKeys") throw new Unusual()',
    name: "a message that fails its checks, and a new key, end a peek without a preview",
  },
  {
    ...edge,
    fault: "the Worker follows a redirect of a push service",
    from: 'redirect: "manual", signal',
    to: 'redirect: "follow", signal',
    name: "a push follows no redirect, and ends with it",
  },
  {
    ...edge,
    fault: "the Worker pushes after the session has ended",
    from: 'if (session?.state !== "ACTIVE" || session.boundDeviceId !== endpoint.deviceId) return',
    to: "if (session === undefined) return",
    name: "an endpoint whose session is revoked gets no push and is deleted",
    table: "server/edge/worker/pushes.test.ts",
    row: "revoked",
  },
]
