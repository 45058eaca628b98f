// Calls primitives that a platform may have only asynchronously, as WebCrypto is. The host names those at the start.
import { callHost, type PrimitiveNumber, type Value } from "./host.ts"

type Argument = number | string | Uint8Array

let deferred: ReadonlySet<number> = new Set()
let callLater: (operation: PrimitiveNumber, args: readonly Argument[]) => Promise<Value> = async () => undefined

/** Set at the start. */
export function defer(operations: ReadonlySet<number>, perform: typeof callLater): void {
  deferred = operations
  callLater = perform
}

export const isDeferred = (operation: PrimitiveNumber): boolean => deferred.has(operation)

/** Calls a primitive at once or, if the host defers it, as an effect. */
export function invoke(operation: PrimitiveNumber, ...args: readonly Argument[]): Value | Promise<Value> {
  return deferred.has(operation) ? callLater(operation, args) : callHost(operation, ...args)
}

/** Applies a function to a value that is known at once, or later. */
export function whenKnown<A, B>(value: A | Promise<A>, use: (value: A) => B): B | Promise<B> {
  return value instanceof Promise ? value.then(use) : use(value)
}
