// The numbers and words that Python defines: lambdak/report/constants.py.

const CONSTANTS = Object.freeze(PAYLOAD.constants);
