// The part of React Native's JavaScript that the package imports: the lookup of a module.
declare global {
  var __turboModuleProxy: ((name: string) => unknown) | undefined
}

/** React Native has it. The clients make empty ones. */
globalThis.Headers ??= class {} as typeof Headers

export const TurboModuleRegistry = {
  get: (name: string): unknown => globalThis.__turboModuleProxy?.(name) ?? null,
}
