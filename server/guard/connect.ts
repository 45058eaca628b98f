// The guard for Connect, gRPC and gRPC-Web. It authenticates before the body is read and authorizes with the message.
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf"
import {
  type ConnectError,
  type ContextKey,
  type ContextValues,
  createContextKey,
  type HandlerContext,
  type Interceptor,
  type StreamRequest,
} from "@connectrpc/connect"
import type { Deny } from "@signet/kernel/authz/authorize"
import type { AuthContext } from "@signet/kernel/authz/context"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { type Reason, Refused } from "@signet/kernel/errors"
import { connectErrorOf } from "./errors.ts"
import type { CallFacts, Guard } from "./guard.ts"
import { type ReadFacts, readerOf } from "./request-facts.ts"
import type { TargetFacts } from "./request-values.ts"
import { requirementOf } from "./requirement.ts"

/**
 * The caller. Undefined in public methods, and for a request with its own credential and no valid token. The symbol is
 * registered: a process that loads this module by `import` and by `require` has two copies of it.
 */
export const kAuth: ContextKey<AuthContext | undefined> = {
  id: Symbol.for("signet.guard.auth"),
  defaultValue: undefined,
}

const kCaller = createContextKey<AuthContext | Reason | undefined>(undefined, { description: "who the header names" })

export interface ConnectGuardOptions extends TargetFacts {
  readonly guard: Guard
  /** The guard of services with their own audience; undefined for services that use `guard`. */
  readonly guardOf?: (service: DescService) => Guard | undefined
  /** All services that are served. A call of any other method is refused as unknown. */
  readonly services: readonly DescService[]
  /** Called for every denial, with its true reason and the facts of the call, for the audit log. */
  readonly onDeny?: (
    deny: Deny,
    method: DescMethod,
    caller: AuthContext | Reason,
    values: ContextValues,
    header: Headers,
  ) => void
}

interface ConnectGuard {
  /** For `requestGate`: refuses a call without a valid token before its body is read. Optional. */
  readonly gate: (context: HandlerContext) => Promise<void>
  /** Authorizes the call and sets kAuth. */
  readonly interceptor: Interceptor
  /** The requirement of each method, for documentation. */
  readonly requirements: ReadonlyMap<DescMethod, Requirement>
}

interface Entry {
  readonly guard: Guard
  readonly requirement: Requirement
  readonly read: ReadFacts
}

/** @throws Error if a method has no requirement, or one that cannot be checked. */
export function createConnectGuard(options: ConnectGuardOptions): ConnectGuard {
  const entries = new Map<DescMethod, Entry>()
  for (const method of options.services.flatMap((service) => service.methods)) {
    const requirement = requirementOf(method)
    const guard = options.guardOf?.(method.parent) ?? options.guard
    entries.set(method, { guard, requirement, read: readerOf(method, requirement, options) })
  }

  function entryOf(method: DescMethod): Entry {
    const entry = entries.get(method)
    if (entry === undefined) throw connectErrorOf(new Refused("METHOD_UNKNOWN"))
    return entry
  }

  function refusalOf(
    deny: Deny,
    method: DescMethod,
    caller: AuthContext | Reason,
    values: ContextValues,
    header: Headers,
  ): ConnectError {
    options.onDeny?.(deny, method, caller, values, header)
    return connectErrorOf(new Refused(deny.reason, { message: deny.safeMessage, metadata: { ...deny.metadata } }))
  }

  async function admit(
    method: DescMethod,
    header: Headers,
    caller: AuthContext | Reason,
    message: Message | undefined,
    values: ContextValues,
  ): Promise<AuthContext | undefined> {
    const { guard, requirement, read } = entryOf(method)
    const facts: CallFacts = typeof caller === "string" ? {} : await read(header, message)
    const decision = await guard.authorize(caller, requirement, facts)
    if (!decision.allow) throw refusalOf(decision, method, caller, values, header)
    return decision.context
  }

  return {
    requirements: new Map([...entries].map(([method, { requirement }]) => [method, requirement])),

    async gate({ method, requestHeader, values }) {
      const { guard, requirement } = entryOf(method)
      if (requirement.is === "public") return
      const caller = await guard.authenticate(requestHeader.get("authorization"))
      values.set(kCaller, caller)
      // If authentication failed, the decision does not depend on the body, so the body is not read.
      if (typeof caller === "string") await admit(method, requestHeader, caller, undefined, values)
    },

    interceptor: (next) => async (req) => {
      const { guard, requirement } = entryOf(req.method)
      if (requirement.is === "public") return next(req)
      const caller = req.contextValues.get(kCaller) ?? (await guard.authenticate(req.header.get("authorization")))
      if (!req.stream) {
        req.contextValues.set(kAuth, await admit(req.method, req.header, caller, req.message, req.contextValues))
        return next(req)
      }
      const { first, request } = await peek(req)
      req.contextValues.set(kAuth, await admit(req.method, req.header, caller, first, req.contextValues))
      return next(request)
    },
  }
}

/** Reads the single message of a server-streaming call, and returns a request from which it can be read again. */
async function peek(req: StreamRequest): Promise<{ first: Message | undefined; request: StreamRequest }> {
  if (req.method.methodKind !== "server_streaming") return { first: undefined, request: req }
  const messages = req.message[Symbol.asyncIterator]()
  const first = await messages.next()
  if (first.done === true) return { first: undefined, request: req }
  async function* again() {
    yield first.value
    yield* { [Symbol.asyncIterator]: () => messages }
  }
  return { first: first.value, request: { ...req, message: again() } }
}
