// @signet/react: components of a sign-in, an account and a tenant's members.
export * from "./account/index.ts"
export * from "./core.ts"
export * from "./members.tsx"
