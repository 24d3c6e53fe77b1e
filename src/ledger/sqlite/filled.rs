//! A ledger of a given size, for the benchmark.

use super::SqliteLedger;
use crate::ledger::LedgerError;

/// Rows of one transaction.
const PORTION: u64 = 100_000;

impl SqliteLedger {
    /// Fills the tables with so many rows of allows that there were not: as large and as scattered as real keys are, with
    /// short reports, since nobody reads those of others. No chain holds over them, so this is of use to a benchmark alone.
    pub(crate) fn fill_for_bench(&self, rows: u64) -> Result<(), LedgerError> {
        let connection = self.lock()?;
        let mut done = 0;
        while done < rows {
            let portion = PORTION.min(rows - done);
            // Keys come in no order, as those of messages do: the number is scattered by a multiplication modulo 2^31 - 1.
            connection.execute_batch(&format!(
                "BEGIN;
                 CREATE TEMP TABLE IF NOT EXISTS portion (n INTEGER PRIMARY KEY, scattered TEXT);
                 DELETE FROM temp.portion;
                 WITH RECURSIVE n (n) AS (SELECT {done} + 1 UNION ALL SELECT n + 1 FROM n WHERE n < {done} + {portion})
                     INSERT INTO temp.portion SELECT n, printf('%08x-%010d', (n * 1103515245) % 2147483647, n) FROM n;
                 INSERT INTO reports SELECT n, printf('01890000-0000-7000-8000-%012x', n), zeroblob(32), zeroblob(32), '{{}}'
                     FROM temp.portion;
                 INSERT INTO messages SELECT '=ctx-' || substr(scattered, 1, 4), 'https://agent.example/profile#me', scattered,
                     zeroblob(32), printf('01890000-0000-7000-8000-%012x', n), 'spiffe://peer.example/agent', n
                     FROM temp.portion;
                 INSERT INTO challenges SELECT 'https://agent.example/profile#me', 'https://server.example/', scattered, n
                     FROM temp.portion;
                 COMMIT;"
            ))?;
            done += portion;
        }
        Ok(())
    }
}
