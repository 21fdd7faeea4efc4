/** The rights by which a request was admitted. */
export interface Rights {
  readonly policyVersion: bigint | undefined;
  /** Checks the current rights. @throws the refusal of the request, if they no longer suffice */
  renew(): Promise<Rights>;
}

/** Rights that no other program can change. */
export const fixedRights: Rights = { policyVersion: undefined, renew: async () => fixedRights };
