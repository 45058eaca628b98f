// The part of React Native's JavaScript that the package imports: the lookup of a module.
declare const __turboModuleProxy: (name: string) => unknown

/** React Native has it. The clients make empty ones. */
Object.assign(globalThis, { Headers: class {} })

export const TurboModuleRegistry = {
  getEnforcing(name: string): unknown {
    const found = __turboModuleProxy(name)
    if (found === null) throw new Error(`TurboModuleRegistry.getEnforcing(...): '${name}' could not be found`)
    return found
  },
}
