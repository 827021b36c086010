//! Reads the types that are not atomic, and that `dump` declares: bools and complex numbers (N-006).

use super::constant::Constant;
use super::data::describe;
use super::error::CdlError;
use super::token::{Lexer, Token};
use crate::Type;

/// Each type, and its declaration.
const TYPES: [(Type, &str); 3] = [
    (Type::Bool, "ubyte enum _bool_t {FALSE = 0, TRUE = 1} ;"),
    (Type::Complex64, "compound _Complex64_t {float r ; float i ;} ;"),
    (Type::Complex128, "compound _Complex128_t {double r ; double i ;} ;"),
];

/// The type whose declaration begins at the lexer, and the lexer behind it; `None` if it is none of these.
pub(super) fn declared(start: Lexer<'_>) -> Result<Option<(Type, Lexer<'_>)>, CdlError> {
    for (ty, declaration) in TYPES {
        let (mut wanted, mut lexer) = (Lexer::new(declaration, 0), start);
        loop {
            let token = wanted.next()?.token;
            if token == Token::End {
                return Ok(Some((ty, lexer)));
            }
            if lexer.next()?.token != token {
                break;
            }
        }
    }
    Ok(None)
}

/// Whether a value of the type is two numbers between braces.
pub(super) fn is_pair(ty: Type) -> bool {
    matches!(ty, Type::Complex64 | Type::Complex128)
}

/// The two numbers, behind the brace.
pub(super) fn pair<'a>(lexer: &mut Lexer<'a>) -> Result<Constant<'a>, CdlError> {
    let mut parts = [""; 2];
    for (part, end) in parts.iter_mut().zip([',', '}']) {
        let lexeme = lexer.next()?;
        match Constant::of(lexeme.token) {
            Ok(Some(Constant::Number(number))) => *part = number,
            _ => {
                let why = format!("expected a number, found {}", describe(lexeme.token));
                return Err(lexer.error(lexeme.start, why));
            }
        }
        let lexeme = lexer.next()?;
        if lexeme.token != Token::Mark(end) {
            let why = format!(
                "expected `{end}` in a complex number, which has two numbers, found {}",
                describe(lexeme.token)
            );
            return Err(lexer.error(lexeme.start, why));
        }
    }
    Ok(Constant::Pair(parts[0], parts[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_types_that_are_printed_are_known() {
        let ty = |text: &str| declared(Lexer::new(text, 0)).unwrap().map(|(ty, _)| ty);
        for (own, declaration) in TYPES {
            assert_eq!(ty(declaration), Some(own));
            assert_eq!(ty(&declaration.replace('_', "x")), None);
        }
        assert_eq!(ty("ubyte enum _bool_t {FALSE = 0, TRUE = 2} ;"), None);
        assert_eq!(ty(""), None);
    }
}
