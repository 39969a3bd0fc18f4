// Words of the search, which kernels of one recording hand on.
const LOW = 0u;          // least ordered key with the digits found so far: two words
const HIGH = 2u;         // greatest: two words
const RANK = 4u;         // so many keys from LOW to HIGH belong to the result, the first ones
const RESULT_COUNT = 5u;
const INPUT_LENGTH = 6u;      // keys that the next digits are looked for in: of the input,
const CANDIDATE_LENGTH = 7u;  // or of the candidates; one of the two is 0
const GATHER_LENGTH = 8u;     // keys of the input that candidates are gathered from
