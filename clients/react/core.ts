// @signet/react/core: what a sign-in page needs, for apps that load the account page later.

export { type Amount, amountOf, upTo1000 } from "./amount.ts"
export { useService } from "./calls.ts"
export { Counted, type CountedProps } from "./counted.tsx"
export { englishFailures } from "./failure-texts.ts"
export { type Explained, explainFailure, type FailureText, type FailureTexts } from "./failures.ts"
export { type Column, List, type Listed, type ListProps } from "./list.tsx"
export {
  Confirm,
  type ConfirmProps,
  Dialog,
  type DialogProps,
  dateOf,
  enumName,
  Failed,
  Loading,
  ShownOnce,
  Status,
  Time,
} from "./parts.tsx"
export { SignetProvider, type SignetProviderProps, useSignet, useText } from "./provider.tsx"
export { SignIn, type SignInProps } from "./sign-in.tsx"
export { english, type Text } from "./text.ts"
export { type Claims, claimsIn } from "./token-claims.ts"
export { type Authorized, useAuthorized, type Wanted } from "./use-authorized.ts"
export { type Action, asList, type Read, useAction, useRead } from "./use-call.ts"
export { usePages } from "./use-pages.ts"
export { useSession } from "./use-session.ts"
export { UserButton, type UserButtonProps } from "./user-button.tsx"
