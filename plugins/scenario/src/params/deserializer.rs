//! `serde::Deserializer` over a tree.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};

use super::{ParamError, Params};
use crate::text::{Integer, Kind, Member, Number, Place, Tree};

/// The name of a newtype that asks for the text of a number's literal; other deserializers give it what they have.
pub(crate) const LITERAL: &str = "$chaconne::literal";

/// The name of a newtype that asks for [line, column, value]; other deserializers give it the value alone.
pub(crate) const PLACED: &str = "$chaconne::placed";

/// One value, and where its errors stand.
#[derive(Clone, Copy)]
pub(super) struct ValueDeserializer<'a> {
    pub(super) tree: &'a Tree,
    pub(super) place: Option<Place>,
}

type Result<T> = std::result::Result<T, ParamError>;

impl<'a> ValueDeserializer<'a> {
    fn new(tree: &'a Tree) -> Self {
        Self { tree, place: Some(tree.place()) }
    }

    /// Gives errors of this value, and of nothing further inside, its place.
    fn here<T>(self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.or_in(self.tree, self.place))
    }

    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.tree.kind() {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Number(number) => visit_number(number, visitor),
            Kind::Text(text) => visitor.visit_str(text),
            Kind::List(items) => visit_list(items, visitor),
            Kind::Object(members) => visitor.visit_map(Members { members: members.iter(), value: None }),
        }
    }

    /// What stands here, for an error that says that something else should.
    fn unexpected(self) -> Unexpected<'a> {
        match self.tree.kind() {
            Kind::Null => Unexpected::Unit,
            Kind::Bool(value) => Unexpected::Bool(*value),
            Kind::Number(number) => Unexpected::Float(number.as_f64()),
            Kind::Text(text) => Unexpected::Str(text),
            Kind::List(_) => Unexpected::Seq,
            Kind::Object(_) => Unexpected::Map,
        }
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value> {
    match number.integer() {
        Some(Integer::Unsigned(value)) => visitor.visit_u64(value),
        Some(Integer::Negative(value)) => visitor.visit_i64(value),
        None => visitor.visit_f64(number.as_f64()),
    }
}

/// A list of which a visitor has to take every item.
fn visit_list<'de, V: Visitor<'de>>(items: &[Tree], visitor: V) -> Result<V::Value> {
    let mut access = Items { items: items.iter(), index: 0 };
    let value = visitor.visit_seq(&mut access)?;
    match access.items.next() {
        None => Ok(value),
        Some(extra) => {
            let what = format!("the list has {} items, but only {} are expected", items.len(), access.index);
            Err(ParamError::new(what).at(extra.place()))
        }
    }
}

impl<'de> Deserializer<'de> for &Params<'_> {
    type Error = ParamError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserializer().deserialize_any(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserializer().deserialize_f32(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserializer().deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserializer().deserialize_option(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        self.deserializer().deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserializer().deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserializer().deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserializer().deserialize_ignored_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'_> {
    type Error = ParamError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.here(self.visit(visitor))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Kind::Number(number) = self.tree.kind() else { return self.deserialize_any(visitor) };
        let value = number.as_f32();
        if value.is_finite() {
            return self.here(visitor.visit_f32(value));
        }
        let expected = format!("a number from {:e} to {:e}", f32::MIN, f32::MAX);
        self.here(Err(de::Error::invalid_value(self.unexpected(), &expected.as_str())))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Kind::Number(number) = self.tree.kind() else { return self.deserialize_any(visitor) };
        self.here(visitor.visit_f64(number.as_f64()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.tree.kind() {
            Kind::Null => self.here(visitor.visit_none()),
            _ => self.here(visitor.visit_some(self)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match (name, self.tree.kind()) {
            (LITERAL, Kind::Number(number)) => self.here(visitor.visit_str(number.text())),
            (LITERAL, _) => self.deserialize_any(visitor),
            (PLACED, _) => self.here(visitor.visit_seq(Placing { of: self, step: 0 })),
            _ => self.here(visitor.visit_newtype_struct(self)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.tree.kind() {
            Kind::Object(_) => self.deserialize_any(visitor),
            _ => self.here(Err(de::Error::invalid_type(self.unexpected(), &"an object"))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let result = match self.tree.kind() {
            Kind::Text(text) => visitor.visit_enum(Variant { name: text, place: self.place, value: None }),
            Kind::Object(members) => match members.as_slice() {
                [Member { key, place, value }] => {
                    visitor.visit_enum(Variant { name: key, place: Some(*place), value: Some(value) })
                }
                _ => {
                    let what = format!("an object with one of {} as its only key is expected here", quoted(variants));
                    Err(ParamError::new(what))
                }
            },
            _ => Err(de::Error::invalid_type(self.unexpected(), &format!("one of {}", quoted(variants)).as_str())),
        };
        self.here(result)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The items of a list.
struct Items<'a> {
    items: std::slice::Iter<'a, Tree>,
    /// Of the next item.
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = ParamError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let value = seed.deserialize(ValueDeserializer::new(item));
        let index = self.index;
        self.index += 1;
        value.map(Some).map_err(|error| error.or_in(item, Some(item.place())).in_item(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The members of an object.
struct Members<'a> {
    members: std::slice::Iter<'a, Member>,
    /// Whose value comes next.
    value: Option<&'a Member>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = ParamError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(member) = self.members.next() else { return Ok(None) };
        self.value = Some(member);
        seed.deserialize(Key(&member.key)).map(Some).map_err(|error| error.or_at(Some(member.place)))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let Some(Member { key, value, .. }) = self.value.take() else {
            return Err(ParamError::new("a value was asked for before its key"));
        };
        let read = seed.deserialize(ValueDeserializer::new(value));
        read.map_err(|error| error.or_in(value, Some(value.place())).in_field(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// A key: a text, which maps may also read as a number, as `true` or `false`, or as the name of a variant.
struct Key<'a>(&'a str);

macro_rules! parsed_keys {
    ($($method:ident $visit:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => visitor.visit_str(self.0),
            }
        }
    )+};
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = ParamError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_str(self.0)
    }

    parsed_keys! {
        deserialize_bool visit_bool
        deserialize_u8 visit_u8
        deserialize_u16 visit_u16
        deserialize_u32 visit_u32
        deserialize_u64 visit_u64
        deserialize_i8 visit_i8
        deserialize_i16 visit_i16
        deserialize_i32 visit_i32
        deserialize_i64 visit_i64
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A variant's name and, when it stands in an object, its value.
struct Variant<'a> {
    name: &'a str,
    place: Option<Place>,
    value: Option<&'a Tree>,
}

/// The value of a variant whose name has been read.
struct Content<'a> {
    name: &'a str,
    place: Option<Place>,
    value: Option<&'a Tree>,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = ParamError;
    type Variant = Content<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'a>)> {
        let name: StrDeserializer<'_, ParamError> = self.name.into_deserializer();
        let variant = seed.deserialize(name).map_err(|error| error.or_at(self.place))?;
        Ok((variant, Content { name: self.name, place: self.place, value: self.value }))
    }
}

impl<'a> Content<'a> {
    fn value(&self) -> Result<ValueDeserializer<'a>> {
        self.value.map(ValueDeserializer::new).ok_or_else(|| {
            let what = format!("`{0}` needs a value; write an object with the key `{0}`", self.name);
            ParamError::new(what).or_at(self.place)
        })
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.in_field(self.name))
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = ParamError;

    fn unit_variant(self) -> Result<()> {
        match self.value {
            None => Ok(()),
            Some(_) => {
                let what = format!("`{}` has no value; write its name alone, as a text", self.name);
                Err(ParamError::new(what).or_at(self.place))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        self.named(seed.deserialize(self.value()?))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.named(self.value()?.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value> {
        self.named(self.value()?.deserialize_struct("", fields, visitor))
    }
}

/// Line, column and value, one after another.
struct Placing<'a> {
    of: ValueDeserializer<'a>,
    step: u8,
}

impl<'de> SeqAccess<'de> for Placing<'_> {
    type Error = ParamError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let place = self.of.place.unwrap_or(Place::START);
        self.step += 1;
        match self.step {
            1 => seed.deserialize((place.line as u64).into_deserializer()).map(Some),
            2 => seed.deserialize((place.column as u64).into_deserializer()).map(Some),
            3 => seed.deserialize(self.of).map(Some),
            _ => Ok(None),
        }
    }
}
